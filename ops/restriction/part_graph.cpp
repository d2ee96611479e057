// Constants, slices and factors as ordinary operators.
#include "ops/restriction/part_graph.h"

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/integers.h"

namespace soapstone::ops::partition {

using core::DataType;
using core::TensorId;

TensorId PartGraph::input(const core::TensorType& type, const core::Dims& dims) {
  return builder_.add_input("x" + std::to_string(input_count_++),
                            {type.data_type, core::to_shape(dims), true});
}

TensorId PartGraph::append(std::string_view op, std::vector<TensorId> inputs,
                           const core::Attributes& attributes) {
  auto outputs = ops::append(builder_, op, std::move(inputs), attributes);
  CHECK(outputs.ok() && outputs->size() == 1, "a part has an operator without a type");
  return outputs->front();
}

TensorId PartGraph::scalar(DataType type, std::int64_t value) {
  if (!core::is_floating(type)) {
    const Integer element = value;
    auto literal = to_literal(type, {}, std::span(&element, 1));
    CHECK(literal, "a number does not fit an element type");
    return builder_.add_constant(std::make_shared<const core::Literal>(*std::move(literal)));
  }
  const TensorId number =
      append("full", {}, {{"shape", to_sizes({})}, {"value", static_cast<double>(value)}});
  if (type == DataType::kFloat32) return number;
  return append("cast", {number}, {{"to", std::string(core::to_string(type))}});
}

TensorId PartGraph::zeros(DataType type, const core::Dims& dims) {
  return append("expand", {scalar(type, 0)}, {{"shape", to_sizes(dims)}});
}

TensorId PartGraph::slice(TensorId tensor, const core::Dims& starts, const core::Dims& extents) {
  const core::Dims dims = *core::concrete(type(tensor).shape);
  core::Dims axes, from, sizes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (extents[d] == dims[d]) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    from.push_back(starts[d]);
    sizes.push_back(extents[d]);
  }
  if (axes.empty()) return tensor;
  return append("slice", {tensor},
                {{"axes", to_sizes(axes)},
                 {"starts", to_sizes(from)},
                 {"sizes", to_sizes(sizes)},
                 {"steps", to_sizes(core::Dims(axes.size(), 1))}});
}

TensorId PartGraph::take(TensorId tensor, const DigitRegion& region) {
  core::Dims radices, starts, extents;
  for (const auto& digits : region.dims())
    for (const DigitInterval& d : digits) {
      radices.push_back(d.radix);
      starts.push_back(d.values.low);
      extents.push_back(d.values.high - d.values.low);
    }
  if (!region.is_box()) tensor = append("reshape", {tensor}, {{"shape", to_sizes(radices)}});
  tensor = slice(tensor, starts, extents);
  if (region.is_box()) return tensor;
  return append("reshape", {tensor}, {{"shape", to_sizes(region.extents())}});
}

TensorId PartGraph::with_zeros_behind(TensorId tensor, std::size_t dim) {
  const std::size_t rank = type(tensor).shape.size();
  std::vector<Polynomial> pads(2 * rank, 0);
  pads[rank + dim] = 1;
  return append("pad", {tensor}, {{"pads", pads}});
}

TensorId PartGraph::masked(TensorId tensor, TensorId mask, const std::vector<std::size_t>& dims) {
  core::Shape shape(type(tensor).shape.size(), 1);
  for (std::size_t d : dims) shape[d] = type(tensor).shape[d];
  mask = append("reshape", {mask}, {{"shape", shape}});
  return append("where", {mask, tensor, scalar(type(tensor).data_type, 0)});
}

TensorId PartGraph::scaled(TensorId tensor, Rational factor, std::int64_t shift) {
  const DataType element = type(tensor).data_type;
  if (factor.numerator != 1) tensor = append("mul", {tensor, scalar(element, factor.numerator)});
  if (factor.denominator != 1)
    tensor = append("div", {tensor, scalar(element, factor.denominator)});
  if (shift != 0) tensor = append("add", {tensor, scalar(element, shift)});
  return tensor;
}

}  // namespace soapstone::ops::partition
