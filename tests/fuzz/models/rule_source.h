// The source of a rule as a graph of its own, so that a fuzzer can build models in which the rule
// is found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "rules/rule/rule.h"

namespace soapstone {

struct RuleSource {
  core::Graph graph;
  /// By position of the graph's inputs: whether the input must be a constant for the rule to match.
  std::vector<bool> constant_inputs;
};

/// The source with random parameters and small random sizes that fit the rule.
/// Errors: kUnsupported if no sizes were found within a few attempts.
core::Result<RuleSource> draw_rule_source(const rules::Rule& rule, std::uint64_t seed);

}  // namespace soapstone
