// Shared by the tests of rules: graphs and rules from text, matches as a list, results compared in
// the prime field.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "rules/rule/rule.h"
#include "rules/sampling/sample.h"
#include "tests/support/graphs.h"
#include "tests/support/rules.h"

namespace soapstone::rules {

inline std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  for (const Rule& rule : rules_of(text)) names.push_back(rule.name);
  return names;
}

/// Whether the rule is a law of functions, which are random in the prime field, so that it does not
/// hold there. Its evidence says so.
inline bool is_law_of_functions(const Rule& rule) {
  return rule.evidence.detail.starts_with("doubles") ||
         rule.evidence.detail.starts_with("all-sizes, a law of functions");
}

struct FoundMatch {
  core::RuleId rule;
  Match match;
};

inline std::vector<FoundMatch> all_matches(const RuleSet& rules, const Graph& graph) {
  std::vector<FoundMatch> found;
  rules.for_each_match(graph, [&](core::RuleId rule, const Match& match) {
    found.push_back({rule, match});
    return true;
  });
  return found;
}

inline std::vector<FoundMatch> all_matches(std::string_view rules, std::string_view graph) {
  return all_matches(RuleSet(rules_of(rules)), graph_of(graph));
}

/// Values of all outputs of a concrete graph on inputs drawn with that seed.
inline std::vector<std::vector<ops::Field::Value>> field_outputs(const Graph& graph,
                                                                 std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<ops::Field::Value>> inputs;
  for (TensorId id : graph.inputs()) {
    const auto dims = *core::concrete(graph.tensor(id).type.shape);
    inputs.emplace_back(static_cast<std::size_t>(core::element_count(dims)));
    for (auto& v : inputs.back()) v = random.next() % ops::Field::kPrime;
  }
  auto outputs = ops::evaluate_graph<ops::Field::Value>(graph, inputs, seed);
  if (!outputs) ADD_FAILURE() << outputs.error().to_string();
  return outputs ? *outputs : std::vector<std::vector<ops::Field::Value>>();
}

/// Applies every match and expects the same function; returns the results as text.
inline std::vector<std::string> apply_all(const RuleSet& rules, const Graph& graph) {
  std::vector<std::string> texts;
  const auto before = field_outputs(graph, 7);
  for (const FoundMatch& found : all_matches(rules, graph)) {
    auto rewritten = apply(graph, rules[found.rule], found.match);
    if (!rewritten) continue;
    EXPECT_FALSE(closes_cycle(graph, rules[found.rule], found.match));
    EXPECT_EQ(field_outputs(*rewritten, 7), before) << core::print(*rewritten);
    texts.push_back(core::print(*rewritten));
  }
  return texts;
}

}  // namespace soapstone::rules
