// The entry points of folding: finds the rule, gives it the values, makes literals of its results.
#include "models/onnx/shapes/fold.h"

#include "models/onnx/shapes/fold_values.h"

namespace soapstone::models {
namespace {

folding::FoldFunction find(const onnx::NodeProto& node) {
  if (!node.domain().empty()) return nullptr;
  for (const auto family : {folding::find_arithmetic, folding::find_comparison,
                            folding::find_layout, folding::find_slicing, folding::find_creation}) {
    if (const auto found = family(node.op_type())) return found;
  }
  return nullptr;
}

bool reads_types_alone(const onnx::NodeProto& node) {
  return node.op_type() == "Shape" || node.op_type() == "Size";
}

}  // namespace

bool has_fold(const onnx::NodeProto& node) { return find(node) != nullptr; }

std::optional<std::vector<core::Literal>> fold(const onnx::NodeProto& node, int opset,
                                               std::span<const FoldInput> inputs) {
  const folding::FoldFunction function = find(node);
  if (!function || inputs.empty() || !inputs[0].present) return std::nullopt;
  folding::FoldNode request(node, opset, inputs);
  if (!reads_types_alone(node) && !request.load_values()) return std::nullopt;
  const folding::Outputs outputs = function(request);
  if (!outputs || outputs->size() < request.output_count()) return std::nullopt;
  std::vector<core::Literal> literals;
  for (const folding::Values& values : *outputs) {
    auto literal = folding::to_literal(values);
    if (!literal) return std::nullopt;
    literals.push_back(*std::move(literal));
  }
  return literals;
}

}  // namespace soapstone::models
