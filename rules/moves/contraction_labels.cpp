#include "rules/moves/contraction_labels.h"

#include "ops/definition/registry.h"
#include "ops/parts/einsum_equation.h"

namespace soapstone::rules {

bool is_product(const core::Node& node) {
  return node.op->has_operand(core::OperandRole::kLeftMatrix);
}

bool is_equation(const core::Node& node) {
  return node.attributes.find("equation") != nullptr &&
         ops::definition_of(node)->op_class == ops::OpClass::kReduction;
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

Sizes known_sizes(const core::Shape& shape) {
  Sizes sizes;
  for (const core::Polynomial& n : shape) sizes.push_back(n.constant());
  return sizes;
}

}  // namespace soapstone::rules
