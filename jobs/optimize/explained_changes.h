// Explains an optimization: which operators were replaced by which, and by which rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rules/rule/rule.h"
#include "search/optimize.h"

namespace soapstone::jobs {

/// `t2 = matmul(x, A; axis=1)`, with the names of this change.
struct ExplainedOperator {
  std::vector<std::string> results;    ///< {"t2"}
  std::string op;                      ///< "concat"
  std::vector<std::string> arguments;  ///< {"x", "A"}; numbers as they are.
  std::string attributes;              ///< "axis=1"
  std::string shape;                   ///< Shape of the first result.
  std::string node;                    ///< Name in the model; empty: a rewrite made it.
  bool is_constant = false;            ///< Computed from weights alone: once, not in each run.
  std::string text() const;            ///< "t2 = concat(x, A; axis=1)"
};

/// A tensor that a change reads from outside.
struct ExplainedInput {
  std::string name;  ///< "x", or "A" for a weight.
  std::string shape;
  std::string tensor;  ///< Name in the model, if it has one.
  bool is_constant = false;
};

struct ExplainedRule {
  std::string rule, instance;
  std::string description;
  std::string source, target;  ///< The sides of its equation.
  int count = 0;               ///< Applied so often in a row, in each place.
  double gain_us = 0;          ///< In each place, on the average; negative: it enables later ones.
};

/// Places that were changed in the same way. Operators and names are those of the first.
struct ExplainedChange {
  double gain_us = 0;                            ///< Sum over all places.
  std::vector<std::vector<std::string>> places;  ///< Names of the nodes that were there.
  std::vector<ExplainedInput> inputs;
  std::vector<ExplainedOperator> before, after;
  std::vector<ExplainedRule> rules;
};

/// How often the baseline applied a rule.
struct ExplainedBaselineRule {
  std::string rule, description;
  int count = 0;
};

struct ExplainedBody;

struct ExplainedResult {
  std::vector<ExplainedBaselineRule> baseline;
  int merged_duplicates = 0;
  std::vector<ExplainedChange> changes;  ///< Largest gain first.
  std::vector<ExplainedBody> bodies;     ///< Those that are improved, of If, Loop and Scan.
};

struct ExplainedBody {
  std::string where;            ///< BodyOutcome::where
  ExplainedResult explanation;  ///< Without bodies: those within are beside it.
};

ExplainedResult explain(const search::OptimizeReport& report, const rules::RuleSet& baseline,
                        const rules::RuleSet& rules);

}  // namespace soapstone::jobs
