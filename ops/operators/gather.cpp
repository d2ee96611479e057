// `gather`, slices chosen by the values of another tensor, and `gather_elements`, an element of its
// own for each of these values. As in ONNX, an index from −n to −1 counts from the end, and an
// index outside of [−n, n) is an error.
#include <fmt/format.h>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::DataType;

/// The axis, if elements and indices are of types that can be read.
std::optional<std::size_t> require_selection(InferContext& c, std::string_view op) {
  const DataType type = c.input(1).data_type;
  if (!require_elements(c, op, Elements::kNumbers) ||
      !c.require(type == DataType::kInt64 || type == DataType::kInt32,
                 fmt::format("{}.index_type", op), "indices must have elements of type i64 or i32"))
    return std::nullopt;
  return require_axis(c, op, c.rank(0));
}

std::vector<TensorType> infer_gather(InferContext& c) {
  const auto axis = require_selection(c, "gather");
  if (!axis) return {};
  const Shape& data = c.shape(0);
  const auto at = data.begin() + static_cast<std::ptrdiff_t>(*axis);
  Shape result(data.begin(), at);
  result.insert(result.end(), c.shape(1).begin(), c.shape(1).end());
  result.insert(result.end(), at + 1, data.end());
  return {{c.input(0).data_type, std::move(result)}};
}

std::vector<TensorType> infer_gather_elements(InferContext& c) {
  const auto axis = require_selection(c, "gather_elements");
  if (!axis || !c.require(c.rank(1) == c.rank(0), "gather_elements.rank",
                          "indices must have as many dimensions as the elements"))
    return {};
  for (std::size_t d = 0; d < c.rank(0); ++d)
    if (d != *axis && !c.require_at_least(c.shape(0)[d], c.shape(1)[d], "gather_elements.shape"))
      return {};
  return {{c.input(0).data_type, c.shape(1)}};
}

/// The stage that makes negative indices positive, and the requirement that there are such
/// elements.
std::uint32_t place_of(SemanticsBuilder& builder, const OpInstance& op) {
  const Shape& indices = op.inputs[1].shape;
  const Polynomial& size = op.inputs[0].shape[axis_of(op.attributes)];
  const auto place =
      builder.stage(indices, [&](const Index& i) { return wrapped_index(read(1, i), size); });
  builder.require(
      "index", indices, [](const Index& i) { return read(1, i); }, -1 * size, size);
  return place;
}

/// The result sums over the elements, of which one is selected. The requirement says that one is.
Semantics gather_semantics(const OpInstance& op) {
  SemanticsBuilder builder(2);
  const Shape& data = op.inputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const auto first = static_cast<std::ptrdiff_t>(axis);
  const auto last = first + static_cast<std::ptrdiff_t>(op.inputs[1].shape.size());
  const auto place = place_of(builder, op);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    const Expr index = read(place, Index(i.begin() + first, i.begin() + last));
    return builder.sum_over(data[axis], [&](const Polynomial& v) {
      Index element(i.begin(), i.begin() + first);
      element.push_back(v);
      element.insert(element.end(), i.begin() + last, i.end());
      return apply(Function::kEqual, {index, index_value(v)}) * read(0, std::move(element));
    });
  });
  return std::move(builder).finish();
}

Semantics gather_elements_semantics(const OpInstance& op) {
  SemanticsBuilder builder(2);
  const std::size_t axis = axis_of(op.attributes);
  const auto place = place_of(builder, op);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    return builder.sum_over(op.inputs[0].shape[axis], [&](const Polynomial& v) {
      Index element = i;
      element[axis] = v;
      return apply(Function::kEqual, {read(place, i), index_value(v)}) *
             read(0, std::move(element));
    });
  });
  return std::move(builder).finish();
}

/// Whether all indices that are known lie within a dimension of that size.
core::Status check_known_indices(const OnnxImport& import, std::int64_t size) {
  const core::LiteralPtr literal = import.constant_input(1);
  const auto values = literal ? literal->to_ints() : std::nullopt;
  if (!values) return core::Done{};
  for (const std::int64_t value : *values)
    if (value < -size || value >= size)
      return bad_node(import, fmt::format("index {} into a dimension of size {}", value, size));
  return core::Done{};
}

/// One index that is known: a slice, of which index and rows need not be read to know what it is.
ReadResult read_known_index(OnnxImport& import, const core::Dims& data, std::size_t axis,
                            const core::Literal& index) {
  const std::int64_t at = index.to_ints()->front();
  Composer compose(import);
  const TensorId row = compose.slice(import.input(0), axis, at < 0 ? at + data[axis] : at, 1);
  core::Dims shape = data;
  if (index.dims().empty()) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  } else {
    shape[axis] = 1;
  }
  return compose.finish(compose.reshape(row, shape));
}

ReadResult read_gather(OnnxImport& import) {
  const core::Dims data = input_dims(import, 0);
  if (!has_input(import, 1)) return bad_node(import, "it has no indices");
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             non_negative_axis(import, import.int_or("axis", 0), data.size()));
  SOAPSTONE_RETURN_IF_ERROR(check_known_indices(import, data[static_cast<std::size_t>(axis)]));
  const core::LiteralPtr index = import.constant_input(1);
  if (index && index->count() == 1 && index->dims().size() <= 1 && index->to_ints())
    return read_known_index(import, data, static_cast<std::size_t>(axis), *index);
  return import.append("gather", {import.input(0), import.input(1)}, {{"axis", Polynomial(axis)}});
}

ReadResult read_gather_elements(OnnxImport& import) {
  const core::Dims data = input_dims(import, 0);
  if (!has_input(import, 1)) return bad_node(import, "it has no indices");
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             non_negative_axis(import, import.int_or("axis", 0), data.size()));
  SOAPSTONE_RETURN_IF_ERROR(check_known_indices(import, data[static_cast<std::size_t>(axis)]));
  return import.append("gather_elements", {import.input(0), import.input(1)},
                       {{"axis", Polynomial(axis)}});
}

WriteFunction write_selection(const char* op_type) {
  return [op_type](OnnxExport& out) -> core::Status {
    out.emit_same(op_type, {{"axis", out.node().attributes.get_int("axis")}});
    return core::Done{};
  };
}

OpDefinition gather() {
  return OpDefinition({
      .name = "gather",
      .equation = "data[a…,v,b…] indices[i…] → y[a…,i…,b…] = data[a…,j,b…], j = indices[i…], plus "
                  "n if that "
                  "is negative",
      .attributes = std::vector{axis_attribute()},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kMovement,
      .movement = Movement::kSelect,
      .operands = {OperandRole::kData, OperandRole::kIndices},
      .infer = infer_gather,
      .semantics = gather_semantics,
      .onnx = OnnxMapping{{reader("Gather", Elements::kNumbers, read_gather)},
                          write_selection("Gather")},
  });
}

OpDefinition gather_elements() {
  return OpDefinition({
      .name = "gather_elements",
      .equation =
          "data[a…,v,b…] indices[i…,w,k…] → y[i…,w,k…] = data[i…,j,k…], j = indices[i…,w,k…], plus "
          "v if that is negative",
      .attributes = std::vector{axis_attribute()},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .operands = {OperandRole::kData, OperandRole::kIndices},
      .infer = infer_gather_elements,
      .semantics = gather_elements_semantics,
      .onnx = OnnxMapping{{reader("GatherElements", Elements::kNumbers, read_gather_elements)},
                          write_selection("GatherElements")},
  });
}

}  // namespace

std::vector<OpDefinition> gather_ops() { return {gather(), gather_elements()}; }
}  // namespace soapstone::ops
