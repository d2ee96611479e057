// `iota`: the position along one dimension as an element. One-hot matrices, masks by position and
// indices of a rule are made of it.
#include <numeric>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::DataType;

/// Beyond this, a model had better compute its positions than hold them.
constexpr std::int64_t kMostHeldElements = std::int64_t{1} << 16;

std::vector<TensorType> infer_iota(InferContext& c) {
  const Shape& shape = c.attributes().get_sizes("shape");
  if (!require_axis(c, "iota", shape.size())) return {};
  for (const Polynomial& size : shape)
    if (!c.require_at_least(size, 0, "iota.shape")) return {};
  return {{DataType::kInt64, shape}};
}

Semantics iota_semantics(const OpInstance& op) {
  SemanticsBuilder builder(0);
  const std::size_t axis = axis_of(op.attributes);
  builder.output(op.outputs[0].shape, [&](const Index& i) { return index_value(i[axis]); });
  return std::move(builder).finish();
}

/// 0, 1, … as a tensor that broadcasts along the axis, then repeated to the shape.
core::Status write_iota(OnnxExport& out) {
  Emitter emitter(out);
  const std::vector<std::int64_t> shape = emitter.attributes().get_ints("shape");
  const std::size_t axis = axis_of(emitter.attributes());
  core::Dims row(shape.size(), 1);
  row[axis] = shape[axis];
  std::string positions;
  if (shape[axis] <= kMostHeldElements) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(shape[axis]));
    std::iota(values.begin(), values.end(), 0);
    positions = out.constant(core::Literal::ints(row, values));
  } else {
    const std::vector<std::string> range{emitter.integer(0), emitter.integer(shape[axis]),
                                         emitter.integer(1)};
    positions = emitter.reshape(emitter.emit("Range", range), row);
  }
  return row == shape ? emitter.finish("Identity", {positions})
                      : emitter.finish("Expand", {positions, emitter.ints(shape)});
}

}  // namespace

std::vector<OpDefinition> iota_ops() {
  return {OpDefinition({
      .name = "iota",
      .equation = "→ y[i…] = i of dimension axis, of type i64 and the given shape",
      .attributes =
          std::vector<core::AttributeSchema>{{"shape", AttributeRole::kShape, std::nullopt, {}},
                                             axis_attribute()},
      .inputs = Arity(0, 0),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .infer = infer_iota,
      .semantics = iota_semantics,
      .onnx = OnnxMapping{{}, write_iota},
  })};
}

}  // namespace soapstone::ops
