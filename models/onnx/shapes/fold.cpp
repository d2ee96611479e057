// Nodes whose inputs are known: read by their ordinary reader, or given a meaning for known values
// alone, and then evaluated.
#include "models/onnx/shapes/fold.h"

#include <algorithm>

#include "models/onnx/nodes/node_import.h"
#include "models/onnx/nodes/reader_table.h"
#include "models/onnx/shapes/integer_meanings.h"
#include "models/onnx/shapes/known_values.h"
#include "ops/definition/infer_rules.h"

namespace soapstone::models {
namespace {

using core::DataType;
using core::LiteralPtr;
using core::TensorId;

/// The operators in which exporters compute shapes.
constexpr std::string_view kFolded[] = {
    "Abs",       "Add",       "And",    "Cast",    "Ceil",           "Concat",
    "Div",       "Equal",     "Expand", "Flatten", "Floor",          "ConstantOfShape",
    "Gather",    "Greater",   "Less",   "Max",     "GreaterOrEqual", "Identity",
    "Min",       "Mod",       "Mul",    "Neg",     "LessOrEqual",    "NonZero",
    "Not",       "Or",        "Range",  "Reshape", "ReduceMax",      "ReduceMin",
    "ReduceSum", "Round",     "Shape",  "Size",    "ReduceProd",     "Slice",
    "Split",     "Sqrt",      "Sub",    "Squeeze", "Tile",           "Transpose",
    "Trilu",     "Unsqueeze", "Where"};

KnownValues one(std::optional<core::Literal> value) {
  if (!value) return std::nullopt;
  return KnownValues({std::make_shared<const core::Literal>(*std::move(value))});
}

/// f32, f64, and integers that 64 signed bits can hold.
bool is_computed_with(DataType type) {
  if (core::is_floating(type)) return type == DataType::kFloat32 || type == DataType::kFloat64;
  return core::size_bytes(type) != 0 && type != DataType::kUInt64;
}

bool has_no_arithmetic(DataType type) {
  return is_computed_with(type) && !ops::admits(ops::Elements::kArithmetic, type);
}

/// A sum of reals depends on its order; f32 zeros are better left as `full`.
bool is_left_alone(const onnx::NodeProto& node, DataType type) {
  if (node.op_type() == "ConstantOfShape") return node.attribute().empty();
  return node.op_type().starts_with("Reduce") && core::is_floating(type);
}

/// Evaluates the graph that the operator's reader makes of the node.
KnownValues as_read(const onnx::NodeProto& node, NodeImport& import, core::GraphBuilder&& builder) {
  const auto* reader = ReaderTable::get().find(node.domain(), node.op_type(), import.opset());
  if (!reader) return std::nullopt;
  auto results = reader->read(import);
  if (!results || std::ranges::any_of(*results, [](TensorId id) { return !id.valid(); }))
    return std::nullopt;
  builder.set_outputs(*std::move(results));
  const auto graph = std::move(builder).finish();
  return graph ? known_values(*graph) : std::nullopt;
}

/// Null values are optional inputs that are left out.
KnownValues computed(const onnx::NodeProto& node, int opset, const std::vector<LiteralPtr>& inputs,
                     ExternalFiles& files) {
  core::GraphBuilder builder;
  std::vector<TensorId> ids;
  for (const LiteralPtr& value : inputs)
    ids.push_back(value ? builder.add_constant(value) : TensorId::none());
  NodeImport import(node, opset, builder, std::move(ids), files);
  if (!import.read_attributes()) return std::nullopt;
  if (node.op_type() == "NonZero") return one(positions_of_non_zeros(*inputs[0]));
  if (const auto meaning = integer_meaning(import, inputs)) return known_values(*meaning, inputs);
  return as_read(node, import, std::move(builder));
}

/// No reader takes sums or maxima of narrow integers, which wrap around at run time, and of bool.
/// Computed as i64 they are exact, and right if the results fit.
KnownValues computed_as_i64(const onnx::NodeProto& node, int opset, std::vector<LiteralPtr> inputs,
                            ExternalFiles& files) {
  const DataType narrow = inputs[0]->data_type();
  for (LiteralPtr& value : inputs)
    if (value && value->data_type() == narrow) value = converted(*value, DataType::kInt64);
  KnownValues values = computed(node, opset, inputs, files);
  if (!values) return std::nullopt;
  for (LiteralPtr& value : *values) {
    if (value->data_type() == DataType::kInt64) value = converted(*value, narrow);
    if (!value) return std::nullopt;
  }
  return values;
}

KnownValues fold_of_type(const onnx::NodeProto& node, int opset, const FoldInput& input,
                         ExternalFiles& files) {
  core::GraphBuilder nothing;
  NodeImport import(node, opset, nothing, {TensorId::none()}, files);
  return import.read_attributes() ? one(value_of_type(import, input.type)) : std::nullopt;
}

}  // namespace

bool has_fold(const onnx::NodeProto& node) {
  return node.domain().empty() && std::ranges::find(kFolded, node.op_type()) != std::end(kFolded);
}

KnownValues fold(const onnx::NodeProto& node, int opset, std::span<const FoldInput> inputs,
                 ExternalFiles& files) {
  if (!has_fold(node) || inputs.empty() || !inputs[0].present) return std::nullopt;
  if (node.op_type() == "Shape" || node.op_type() == "Size")
    return fold_of_type(node, opset, inputs[0], files);
  if (is_left_alone(node, inputs[0].type.data_type)) return std::nullopt;
  std::vector<LiteralPtr> values;
  for (const FoldInput& input : inputs) {
    values.push_back(input.value);
    if (!input.present) continue;
    if (!input.value || input.value->count() > kMostFoldedElements ||
        !is_computed_with(input.type.data_type))
      return std::nullopt;
  }
  KnownValues results = computed(node, opset, values, files);
  if (!results && has_no_arithmetic(inputs[0].type.data_type))
    results = computed_as_i64(node, opset, std::move(values), files);
  return results && std::ssize(*results) >= node.output_size() ? results : std::nullopt;
}

}  // namespace soapstone::models
