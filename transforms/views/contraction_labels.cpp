#include "transforms/views/contraction_labels.h"

#include <algorithm>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/parts/einsum_equation.h"

namespace soapstone::transforms {

bool is_product(const core::Node& node) {
  return node.op->has_operand(core::OperandRole::kLeftMatrix);
}

bool is_equation(const core::Node& node) {
  return node.attributes.find("equation") != nullptr &&
         ops::definition_of(node)->op_class == ops::OpClass::kReduction;
}

bool is_convolution_of_points(const core::Graph& graph, const core::Node& node) {
  if (node.op->name != "conv") return false;
  const Sizes kernel = known_sizes(graph.tensor(node.inputs[1]).type.shape);
  const auto all = [&](core::AttributeRole role, std::int64_t wanted) {
    return std::ranges::all_of(ops::sizes_by_role(node, role), [&](const core::Polynomial& n) {
      return n == core::Polynomial(wanted);
    });
  };
  const core::AttributeSchema* const group = node.op->find_role(core::AttributeRole::kGroup);
  const core::AttributeValue* const groups = node.attributes.find(group->name);
  return std::all_of(kernel.begin() + 2, kernel.end(), [](std::int64_t n) { return n == 1; }) &&
         all(core::AttributeRole::kStride, 1) && all(core::AttributeRole::kPad, 0) &&
         (groups == nullptr || std::get<core::Polynomial>(*groups) == core::Polynomial(1));
}

std::vector<std::string> contraction_labels(const core::Graph& graph, const core::Node& node) {
  std::vector<std::string> all;
  if (is_equation(node)) {
    const auto equation = ops::EinsumEquation::parse(node.attributes.get_text("equation"));
    all = equation->operands;
    all.push_back(equation->result);
    return all;
  }
  if (!is_product(node)) return {};
  // Batches are aligned at their ends.
  const std::size_t rank = graph.tensor(node.outputs[0]).type.shape.size();
  std::string batch;
  for (std::size_t d = 0; d + 2 < rank; ++d) batch += static_cast<char>('d' + d);
  for (const std::size_t k : {0, 1}) {
    const std::size_t its = graph.tensor(node.inputs[k]).type.shape.size();
    if (its < 2) return {};
    all.push_back(batch.substr(rank - its) + (k == 0 ? "ac" : "cb"));
  }
  all.push_back(batch + "ab");
  return all;
}

bool has_known_sizes(const core::Graph& graph, const core::Node& node) {
  const auto is_known = [&](core::TensorId id) {
    if (!id.valid()) return true;
    const core::TensorType& type = graph.tensor(id).type;
    return type.shape_known && core::concrete(type.shape) &&
           std::ranges::none_of(type.shape,
                                [](const core::Polynomial& n) { return n.constant() < 1; });
  };
  return !node.op->is_opaque() && std::ranges::all_of(node.inputs, is_known) &&
         std::ranges::all_of(node.outputs, is_known);
}

Sizes known_sizes(const core::Shape& shape) {
  Sizes sizes;
  for (const core::Polynomial& n : shape) sizes.push_back(n.constant());
  return sizes;
}

}  // namespace soapstone::transforms
