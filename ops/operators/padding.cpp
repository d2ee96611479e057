// `pad`: a constant around a tensor and between its elements, or, with negative amounts, a crop.
#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;

std::vector<TensorType> infer_pad(InferContext& c) {
  const std::size_t rank = c.rank(0);
  const Sizes& pads = c.attributes().get_sizes("pads");
  auto interior = require_ints(c, "pad", "interior");
  if (!interior || !require_elements(c, "pad", Elements::kNumbers) ||
      !require_representable(c, "pad", "value") ||
      !c.require(pads.size() == 2 * rank, "pad.pads",
                 fmt::format("{} dimensions need {} pads, not {}", rank, 2 * rank, pads.size())) ||
      !c.require(interior->empty() || interior->size() == rank, "pad.interior",
                 "interior must be empty or have a number for each dimension"))
    return {};
  interior->resize(rank, 0);
  Shape result = c.shape(0);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t between = (*interior)[d];
    if (!c.require(between >= 0, "pad.interior", "interior must not be negative") ||
        (between > 0 && !c.require_at_least(result[d], 1, "pad.interior")))
      return {};
    if (between > 0) result[d] += (result[d] - 1) * between;
    result[d] += pads[d] + pads[rank + d];
    if (!c.require_at_least(result[d], 0, "pad.size")) return {};
  }
  return {{c.input(0).data_type, std::move(result)}};
}

/// `body` at the element of x that lies at i, 0 where none does. Between spread elements the
/// coordinate of x is the one j, if any, with j·(interior + 1) = i − pad.
Expr where_element(SemanticsBuilder& builder, const OpInstance& op, const Index& i,
                   const std::function<Expr(Index)>& body) {
  const Shape& x = op.inputs[0].shape;
  const Sizes& pads = op.attributes.get_sizes("pads");
  std::vector<std::int64_t> interior = op.attributes.get_ints("interior");
  interior.resize(x.size(), 0);
  Index element;
  std::vector<Binder> binders;
  std::vector<Constraint> constraints;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const Polynomial position = i[d] - pads[d];
    if (interior[d] > 0) {
      binders.push_back({builder.fresh(), 0, x[d]});
      element.push_back(binders.back().variable);
      constraints.push_back(equal(element[d] * (interior[d] + 1), position));
    } else {
      element.push_back(position);
      if (pads[d] != Polynomial(0)) constraints.push_back(at_least(position, 0));
      if (pads[x.size() + d] != Polynomial(0)) constraints.push_back(less(position, x[d]));
    }
  }
  Expr value = body(std::move(element));
  if (binders.empty()) return guard(std::move(constraints), std::move(value));
  return sum(std::move(binders), std::move(value), std::move(constraints));
}

Semantics pad_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const double value = op.attributes.get_real("value");
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    Expr inside = where_element(builder, op, i, [](Index e) { return read(0, std::move(e)); });
    if (value == 0) return inside;
    const Expr is_inside = where_element(builder, op, i, [](const Index&) { return number(1.0); });
    return inside + number(value) * (number(1.0) - is_inside);
  });
  return std::move(builder).finish();
}

/// Begins and ends of all dimensions: an attribute, then an input, since opset 18 of some axes.
core::Result<std::vector<std::int64_t>> read_pads(const OnnxImport& import, std::size_t rank) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto given, import.ints_or_input("pads", 1));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto axes, import.ints_or_input("axes", 3));
  const std::size_t count = axes ? axes->size() : rank;
  if (!given || given->size() != 2 * count)
    return bad_node(import, "pads must have two numbers for each axis");
  if (!axes) return *given;
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t k = 0; k < count; ++k) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                               non_negative_axis(import, (*axes)[k], rank));
    pads[static_cast<std::size_t>(axis)] = (*given)[k];
    pads[rank + static_cast<std::size_t>(axis)] = (*given)[count + k];
  }
  return pads;
}

/// The element of a dimension that stands at a position beside it. Mode reflect turns around at the
/// first and at the last element, wrap begins anew.
std::int64_t element_at(std::int64_t at, std::int64_t size, std::string_view mode) {
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  const std::int64_t period = mode == "wrap" ? size : std::max<std::int64_t>(2 * size - 2, 1);
  const std::int64_t in_period = (at % period + period) % period;
  return in_period < size ? in_period : period - in_period;
}

/// A border of elements of the tensor itself: along each dimension they are gathered.
ReadResult read_pad_of_elements(OnnxImport& import, const std::vector<std::int64_t>& pads,
                                std::string_view mode) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // of a list of positions
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return bad_node(import, fmt::format("mode {}", mode));
  const core::Dims x = input_dims(import, 0);
  Composer compose(import);
  TensorId result = import.input(0);
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::int64_t begin = pads[d], end = pads[x.size() + d];
    if (begin == 0 && end == 0) continue;
    if (begin < 0 || end < 0) return cannot_read(import, "cropped at one end");
    const bool is_large = std::max({x[d], begin, end}) > kMostElements;
    const std::int64_t size = is_large ? 0 : x[d] + begin + end;
    if (x[d] == 0 || is_large) return cannot_read(import, "an empty or a large dimension");
    if (mode == "reflect" && std::max(begin, end) >= x[d])
      return cannot_read(import, "a reflection that is longer than the dimension");
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < size; ++k) places.push_back(element_at(k - begin, x[d], mode));
    const TensorId indices = import.constant(core::Literal::ints({size}, places));
    result = compose.append("gather", {result, indices},
                            {{"axis", Polynomial(static_cast<std::int64_t>(d))}});
  }
  return compose.finish(result);
}

ReadResult read_pad(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto pads, read_pads(import, input_dims(import, 0).size()));
  if (const std::string mode = import.text_or("mode", "constant"); mode != "constant")
    return read_pad_of_elements(import, pads, mode);
  double value = import.opset() < 11 ? decimal_or(import, "value", 0) : 0;
  if (import.opset() >= 11 && has_input(import, 2)) {
    const core::LiteralPtr literal = import.constant_input(2);
    if (!literal || literal->count() != 1) return cannot_read(import, "its value is no constant");
    value = literal->to_doubles()[0];
    if (literal->data_type() == core::DataType::kFloat32)
      value = shortest_decimal(static_cast<float>(value));
  }
  if (!is_representable(value)) return cannot_read(import, "its value is out of range");
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; }))
    return std::vector{import.input(0)};
  return import.append("pad", {import.input(0)}, {{"pads", to_sizes(pads)}, {"value", value}});
}

/// ONNX cannot pad between elements: each is made a row, rows are padded at their end, and what
/// follows the last element is cropped.
Emitted spread(Emitter& emitter, Emitted x, std::size_t d, std::int64_t between, double value) {
  core::Dims rows = x.dims;
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(d) + 1, 1);
  x = {emitter.reshape(std::move(x.name), rows), rows};
  std::vector<std::int64_t> pads(2 * rows.size(), 0);
  pads[rows.size() + d + 1] = between;
  x.name = emitter.pad(x, pads, value);
  x.dims.erase(x.dims.begin() + static_cast<std::ptrdiff_t>(d) + 1);
  x.dims[d] *= between + 1;
  x.name = emitter.reshape(std::move(x.name), x.dims);
  std::vector<std::int64_t> crop(2 * x.dims.size(), 0);
  crop[x.dims.size() + d] = -between;
  x.name = emitter.pad(x, crop, value);
  x.dims[d] -= between;
  return x;
}

core::Status write_pad(OnnxExport& out) {
  Emitter emitter(out);
  const double value = emitter.attributes().get_real("value");
  const std::vector<std::int64_t> interior = emitter.attributes().get_ints("interior");
  Emitted x = emitter.operand(0);
  for (std::size_t d = 0; d < interior.size(); ++d)
    if (interior[d] > 0) x = spread(emitter, std::move(x), d, interior[d], value);
  emitter.pad(x, emitter.attributes().get_ints("pads"), value, true);
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> padding_ops() {
  return {OpDefinition({
      .name = "pad",
      .equation = "x[s…] → y[begin + s + (s−1)·interior + end …] = x surrounded and interspersed "
                  "with value",
      .attributes =
          std::vector<AttributeSchema>{{"pads", AttributeRole::kBorder, std::nullopt, {}},
                                       {"interior", AttributeRole::kGap, Sizes{}, {Sizes{}}},
                                       {"value", AttributeRole::kReal, 0.0, {0.0}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kFrame,
      .infer = infer_pad,
      .semantics = pad_semantics,
      .onnx = OnnxMapping{{reader("Pad", Elements::kNumbers, read_pad, 2)}, write_pad},
  })};
}

}  // namespace soapstone::ops
