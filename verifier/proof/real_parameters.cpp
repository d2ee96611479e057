// See real_parameters.h. The values that stand for the unknown numbers are such as no rule has.
// That an operator puts the attribute into its comprehension as it is shows when two sets of them
// are compared: all other numbers must be the same.
#include "verifier/proof/real_parameters.h"

#include <bit>
#include <optional>
#include <vector>

#include "ops/definition/registry.h"

namespace soapstone::verifier {
namespace {

using Numbers = std::vector<ops::Rational>;

/// The numbers of one set: 0.2 … 0.3, and a fraction that can be represented.
double stand_in(std::size_t set, std::size_t parameter) {
  const auto odd = static_cast<double>(2 * (1009 * parameter + 524287 * set) + 1);
  return 0.2001953125 + odd * 0x1p-28;
}

void collect_numbers(const ops::ExprNode& node, Numbers& numbers) {
  if (node.kind == ops::ExprKind::kNumber) numbers.push_back(node.number);
  for (const ops::Expr& argument : node.arguments) collect_numbers(*argument, numbers);
  for (const ops::Alternative& each : node.alternatives) collect_numbers(*each.body, numbers);
}

Numbers numbers_of(const rules::Rule& rule) {
  Numbers numbers;
  for (const core::Graph* side : {&rule.source, &rule.target}) {
    for (core::NodeId id : side->order()) {
      for (const ops::Stage& stage : ops::semantics_of(*side, id).stages) {
        collect_numbers(*stage.body, numbers);
      }
    }
  }
  return numbers;
}

/// The numbers of both are the same, but for those that stand for parameters.
bool differ_in_parameters_only(const Numbers& a, const Numbers& b, const Numbers& first,
                               const Numbers& second) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    bool is_parameter = false;
    for (std::size_t p = 0; p < first.size(); ++p) {
      is_parameter = is_parameter || (a[k] == first[p] && b[k] == second[p]);
    }
    if (!is_parameter) return false;
  }
  return true;
}

}  // namespace

std::string attempt_proof_for_all_reals(const rules::Rule& rule, const rules::Bindings& values,
                                        Solver& solver, const VerifyOptions& options) {
  std::vector<rules::Rule> sides;
  std::vector<Numbers> stand_ins(2);
  for (const std::size_t set : {std::size_t{0}, std::size_t{1}}) {
    rules::Bindings here = values;
    for (std::size_t k = 0; k < rule.real_parameters.size(); ++k) {
      const double value = stand_in(set, k);
      here[rule.real_parameters[k].id] = std::bit_cast<std::int64_t>(value);
      stand_ins[set].push_back(ops::to_rational(value));
    }
    auto special = rules::specialize(rule, here);
    if (!special) return special.error().message;
    sides.push_back(*std::move(special));
  }
  if (!differ_in_parameters_only(numbers_of(sides[0]), numbers_of(sides[1]), stand_ins[0],
                                 stand_ins[1])) {
    return "an operator computes with an attribute";
  }
  VerifyOptions symbolic = options;
  symbolic.unknown_numbers = stand_ins[0];
  return attempt_proof(sides[0], solver, symbolic);
}

}  // namespace soapstone::verifier
