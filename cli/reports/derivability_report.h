// verify-rules --derivable-from: which rules of some files follow from those of others.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/run_main.h"
#include "core/base/result.h"
#include "generator/selection/derivability.h"
#include "rules/rule/rule.h"

namespace soapstone::cli {

struct DerivabilityCommand {
  std::vector<std::string> from;  ///< Rule files; `shipped` stands for the shipped ones.
  bool both_ways = false;         ///< Their rules are also used from right to left.
  bool require = false;
  generator::DerivabilityOptions options;
};

/// --derivable-from, --both-ways, --require-derivable, --derivation-nodes, --samples.
void add_derivability_options(CLI::App& app, DerivabilityCommand& command);

/// Reports a table or one JSON object; with `only_open` just what is not derivable.
/// Errors: kRequirementNotMet if that is required and one rule is not; those of reading rules.
core::Status report_derivability(const std::vector<rules::Rule>& rules,
                                 const DerivabilityCommand& command, bool only_open,
                                 Session& session);

}  // namespace soapstone::cli
