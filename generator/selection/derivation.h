// Whether known rules imply that two graphs compute the same: both are put into one e-graph, which
// is saturated until their results are equal.
#pragma once

#include <vector>

#include "core/base/progress.h"
#include "core/graph/graph.h"
#include "rules/rule/rule.h"
#include "rules/saturation/saturate.h"

namespace soapstone::generator {

struct DerivationLimits {
  std::size_t nodes = 2'000;  ///< E-nodes.
  std::size_t rounds = 30;
  std::vector<bool> left_out = {};  ///< The same as in SaturationLimits.
  bool hands_on = false;            ///< The same as in EMatchLimits.
};

enum class Derivability : std::uint8_t {
  kYes,
  kNo,     ///< Saturated: nothing else follows from the rules at these sizes.
  kLimit,  ///< Neither, within the limits.
};
std::string_view to_string(Derivability derivation);

struct DerivationReport {
  Derivability derivation = Derivability::kLimit;
  rules::SaturationReport saturation;
};

/// Whether results of `a` and `b` with the same position are equal by the rules. Both have the same
/// inputs and numbers for all sizes; `constant_inputs` (by position; may be empty) count as
/// computed from constants. Thread-safe, deterministic.
DerivationReport derive(const core::Graph& a, const core::Graph& b,
                        const std::vector<bool>& constant_inputs,
                        const rules::SaturationRules& rules, const DerivationLimits& limits,
                        const core::StopToken& stop);

/// Whether that is so within the limits.
bool derivable(const core::Graph& a, const core::Graph& b, const rules::SaturationRules& rules,
               const DerivationLimits& limits = {});

}  // namespace soapstone::generator
