// derive(): which rules of some files follow from those of others.
#pragma once

#include <string>
#include <vector>

#include "generator/selection/derivability.h"
#include "jobs/base/context.h"
#include "rules/rule/rule.h"

namespace soapstone::jobs {

struct DeriveRequest {
  std::vector<std::string> from;  ///< Rule files; `shipped` stands for the shipped ones.
  bool both_ways = false;         ///< Their rules are also used from right to left.
  generator::DerivabilityOptions options;
};

struct DeriveOutcome {
  std::vector<generator::RuleDerivability> rules;
  std::size_t premises = 0;
  std::size_t reversed = 0;  ///< Premises that are used from right to left.
  std::size_t left_out = 0;  ///< Premises whose source is in parts that share no tensor.

  /// Rules with this verdict; with none: those without sizes.
  std::size_t count(std::optional<generator::Derivability> verdict) const;
};

/// Stopped, it returns the rules that were finished. Errors: those of reading rules.
core::Result<DeriveOutcome> derive(const std::vector<rules::Rule>& rules,
                                   const DeriveRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
