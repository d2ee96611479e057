// See product_labels.h.
#include "ops/parts/product_labels.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

bool has_diagonal(const std::string& labels) {
  return std::ranges::any_of(labels,
                             [&](char label) { return std::ranges::count(labels, label) > 1; });
}

}  // namespace

std::optional<ProductLabels> product_labels(const EinsumEquation& equation) {
  if (equation.operands.size() != 2) return std::nullopt;
  const std::string &a = equation.operands[0], &b = equation.operands[1];
  if (has_diagonal(a) || has_diagonal(b)) return std::nullopt;
  ProductLabels labels;
  for (const char label : a) {
    const bool in_result = has(equation.result, label);
    if (has(b, label))
      (in_result ? labels.batch : labels.summed) += label;
    else if (in_result)
      labels.rows += label;
    else
      return std::nullopt;
  }
  for (const char label : b) {
    if (has(a, label)) continue;
    if (!has(equation.result, label)) return std::nullopt;
    labels.columns += label;
  }
  return labels;
}

std::optional<EinsumEquation> equation_of(const core::Node& node) {
  const core::AttributeSchema* const attribute = node.op->find_role(core::AttributeRole::kEquation);
  return attribute ? EinsumEquation::parse(node.attributes.get_text(attribute->name))
                   : std::nullopt;
}

bool is_einsum_product(const core::Node& node) {
  const auto equation = equation_of(node);
  return equation && product_labels(*equation);
}

}  // namespace soapstone::ops
