// Takes plans: rewrites that cost more until the last one is taken, by rules that are made for the
// graph (rules/batching, rules/linear_maps, rules/windows).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rules/rule/plan.h"
#include "search/base/objective.h"
#include "search/base/types.h"
#include "verifier/admission.h"

namespace soapstone::search {

class PlanTaker {
 public:
  /// Adds rules of plans to those of the admission when their proofs are asked for, but for those
  /// that `may_be_used` refuses. Without `behind_opaque` what depends on opaque nodes stays as it
  /// is.
  PlanTaker(verifier::Admission& admission, const Objective& objective,
            std::function<bool(const rules::Rule&)> may_be_used, bool behind_opaque = true);

  /// The candidate with those plans carried out that pay; without new steps if none does. A plan is
  /// one site; proofs are asked for once it would pay. Of one that needs a step of another plan, or
  /// whose next rule is not admitted, only the steps before are tried. Precondition: the plans were
  /// made for the candidate's graph. Deterministic, unless `stopped` says to leave the rest. Not
  /// thread-safe.
  Candidate take(const Candidate& from, std::span<const rules::RewritePlan> plans,
                 const ObjectiveStage& stage, const std::function<bool()>& stopped);
  /// With all of them carried out that can be, as far as all steps of each can, whatever it costs.
  Candidate carry_out(const Candidate& from, std::span<const rules::RewritePlan> plans,
                      const ObjectiveStage& stage);

 private:
  /// What a plan has come to.
  struct Progress;
  /// A proof takes longer than to see that a plan pays.
  enum class Asks : std::uint8_t { kNothing, kProofs };

  /// Takes the steps of a plan as far as they can be taken: what there is before it ends, and when
  /// it has ended.
  std::vector<Progress> taken(const Progress& from, const rules::RewritePlan& plan, Asks asks);
  /// A step and its rule.
  struct Placed;
  /// The first rule of the step that is admitted where the tensors are computed, or would be.
  std::optional<Placed> step_at(const core::Graph& graph, const rules::PlanStep& wanted,
                                const std::vector<core::TensorId>& results, Asks asks);
  /// The rule of that text, made when it is first asked for. None: there is none, or it may not be
  /// used.
  std::shared_ptr<const rules::Rule> rule_of(const rules::PlanStep& step, const std::string& text);
  /// Its number among the rules of the admission, of which it becomes one.
  core::RuleId id_of(const rules::Rule& rule);

  verifier::Admission& admission_;
  const Objective& objective_;
  std::function<bool(const rules::Rule&)> may_be_used_;
  bool behind_opaque_;
  /// By name, rules made for graphs: those of which a proof was asked, and the last others. Most
  /// plans do not pay, and their rules would take more memory than all else.
  std::map<std::string, core::RuleId> asked_;
  std::map<std::string, std::shared_ptr<const rules::Rule>> drafts_;
};

}  // namespace soapstone::search
