// A lemma: two graphs of given sizes that are equal by some rules, with the steps of the
// derivation. It is applied like a rule and replayed like a proof.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "rules/rule/rule.h"
#include "rules/saturation/saturate.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// A rule holds at some tensors, numbered as by Derivation.
struct LemmaStep {
  core::RuleId rule;
  std::vector<std::size_t> inputs;
  std::vector<std::int64_t> sizes;  ///< By symbol of the rule.
};

struct Lemma {
  rules::Rule
      rule;  ///< Without symbols. It is what its text says: the chain's reader has the same.
  std::vector<LemmaStep> steps;
};
/// The rules as written that it follows from: "associate_matmuls_right + merge_matmuls".
std::string origins_of(const Lemma& lemma, const rules::RuleSet& rules);
using LemmaPtr = std::shared_ptr<const Lemma>;

/// The rule without symbols that says that both graphs are equal, read back from its own text.
/// `constant`: by input. Errors: kInvalidInput: the text language cannot say it.
core::Result<rules::Rule> lemma_rule(std::string name, const core::Graph& source,
                                     const core::Graph& target, std::vector<bool> constant);

/// Replays the steps as a reader of the lemma's text does.
bool is_derived(const Lemma& lemma, verifier::Admission& rules);

/// An e-graph in which the source was saturated.
struct SaturationLog {
  const rules::EGraph& graph;
  std::vector<rules::ClassId> source;  ///< Classes of numbered_tensors(source).
  const std::vector<rules::Application>& applications;
};
/// The applications by which the target, made of the chosen e-nodes, equals the source; few of
/// them, and in their order. None: that could not be derived again, or `stopped`.
std::optional<std::vector<LemmaStep>> derive(const core::Graph& source, const core::Graph& target,
                                             const SaturationLog& log,
                                             std::span<const rules::ENodeId> chosen,
                                             verifier::Admission& rules,
                                             const std::function<bool()>& stopped);

}  // namespace soapstone::search
