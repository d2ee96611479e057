// See real_parameters.h. The values that stand for the unknown numbers are such as no rule has.
// That an operator puts the attribute into its comprehension as it is shows when two sets of them
// are compared: all other numbers must be the same.
#include "verifier/proof/real_parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
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

ops::Rational negative(ops::Rational number) { return {-number.numerator, number.denominator}; }

/// The numbers of both are the same, but for those that stand for parameters.
bool differ_in_parameters_only(const Numbers& a, const Numbers& b, const Numbers& first,
                               const Numbers& second) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    bool is_parameter = false;
    for (std::size_t p = 0; p < first.size(); ++p) {
      is_parameter = is_parameter || (a[k] == first[p] && b[k] == second[p]) ||
                     (a[k] == negative(first[p]) && b[k] == negative(second[p]));
    }
    if (!is_parameter) return false;
  }
  return true;
}

bool is_large(double value) { return std::isfinite(value) && std::fabs(value) >= 0x1p62; }

std::vector<double> large_numbers(const rules::Rule& rule) {
  std::vector<double> found;
  for (const core::Graph* side : {&rule.source, &rule.target}) {
    for (core::NodeId id : side->order()) {
      for (const auto& [name, value] : side->node(id).attributes.values()) {
        const double* const real = std::get_if<double>(&value);
        if (real != nullptr && is_large(*real) && std::ranges::find(found, *real) == found.end())
          found.push_back(*real);
      }
    }
  }
  return found;
}

/// The graph with stand-ins of that set for these numbers in attributes.
core::Result<core::Graph> with_stand_ins(const core::Graph& graph, std::size_t set,
                                         const std::vector<double>& numbers) {
  core::GraphBuilder builder(graph);
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    core::Attributes attributes = node.attributes;
    for (const auto& [name, value] : node.attributes.values()) {
      const double* const real = std::get_if<double>(&value);
      const auto at = real != nullptr ? std::ranges::find(numbers, *real) : numbers.end();
      if (at != numbers.end())
        attributes.set(name, stand_in(set, static_cast<std::size_t>(at - numbers.begin())));
    }
    if (attributes == node.attributes) continue;
    std::vector<core::TensorType> types;
    for (core::TensorId output : node.outputs) types.push_back(graph.tensor(output).type);
    const std::vector<core::TensorId> inputs = builder.node(id).inputs;
    const auto outputs =
        builder.add_node(*node.op, std::move(attributes), inputs, std::move(types));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      builder.replace_uses(node.outputs[k], outputs[k]);
  }
  return std::move(builder).finish();
}

}  // namespace

std::optional<UnknownNumbers> with_unknown_numbers(const rules::Rule& rule) {
  const std::vector<double> numbers = large_numbers(rule);
  if (numbers.empty()) return std::nullopt;
  std::vector<rules::Rule> sides;
  std::vector<Numbers> stand_ins(2);
  for (const std::size_t set : {std::size_t{0}, std::size_t{1}}) {
    auto source = with_stand_ins(rule.source, set, numbers);
    auto target = with_stand_ins(rule.target, set, numbers);
    if (!source || !target) return std::nullopt;
    sides.push_back(rule);
    sides.back().source = *std::move(source);
    sides.back().target = *std::move(target);
    for (std::size_t k = 0; k < numbers.size(); ++k)
      stand_ins[set].push_back(ops::to_rational(stand_in(set, k)));
  }
  if (!differ_in_parameters_only(numbers_of(sides[0]), numbers_of(sides[1]), stand_ins[0],
                                 stand_ins[1]))
    return std::nullopt;
  return UnknownNumbers{std::move(sides[0]), std::move(stand_ins[0])};
}

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
