// Takes plans: rewrites that cost more until the last one is taken, by rules that are made for the
// graph (transforms/pack, transforms/affine, transforms/receptive).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/tasks/crew.h"
#include "rules/matching/edited_graph.h"
#include "search/base/objective.h"
#include "search/base/types.h"
#include "search/passes/plan_moves.h"
#include "transforms/base/rewrite_sequence.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// Whether a plan pays is seen without proofs, which take longer. So plans are drafted, on several
/// threads, and proofs are asked for once it is known which drafts are used. What was refused since
/// is drafted again without it.
class PlanTaker {
 public:
  /// Adds rules of plans to those of the admission when their proofs are asked for, but for those
  /// that `may_be_used` refuses. Without `behind_opaque` what depends on opaque nodes stays as it
  /// is.
  PlanTaker(verifier::Admission& admission, const Objective& objective,
            std::function<bool(const rules::Rule&)> may_be_used, bool behind_opaque = true);
  /// Where NaN and infinities matter in the graph from which all candidates come. Not thread-safe.
  void set_specials(ops::SpecialValues specials) { specials_ = std::move(specials); }
  /// For tests: from now on plans are taken in whole graphs, too, where a graph under edit has
  /// shown that they do not pay. The results are the same.
  void take_all_plans() { takes_all_ = true; }
  /// Plans that a graph under edit has shown not to pay.
  std::size_t left_out() const { return left_out_; }

  // Drafts: no rule whose proof was refused is used, but there are steps of which none was asked
  // for (Step::draft). Thread-safe, while nobody proves or clears. Precondition: the plans were
  // made for the candidate's graph. Deterministic, unless `stopped` says to leave the rest.

  /// The candidate with those plans carried out that pay; without new steps if none does. A plan is
  /// one site. Of one that needs a step of another plan, or whose next rule may not be used, only
  /// the steps before are tried.
  Candidate take(const Candidate& from, std::span<const transforms::RewriteSequence> plans,
                 const ObjectiveStage& stage, const std::function<bool()>& stopped);
  /// The same with the plans that the transform finds. The result of a graph is remembered.
  Candidate take(const Candidate& from, const transforms::Transform& transform,
                 const ObjectiveStage& stage, const std::function<bool()>& stopped);
  /// With all of them carried out that can be, as far as all steps of each can, whatever it costs.
  Candidate carry_out(const Candidate& from, std::span<const transforms::RewriteSequence> plans,
                      const ObjectiveStage& stage);

  /// Asks for the proofs of all that was drafted. False: some were refused, and the candidate is no
  /// use. Not thread-safe.
  bool prove(Candidate& candidate, core::Crew& crew);
  /// What `draft` makes, with the proof of each rule asked for as soon as a plan pays by it: where
  /// one was refused, others may be, and each would be a draft of its own. Not thread-safe.
  Candidate drafted_with_proofs(const std::function<Candidate()>& draft);
  /// Forgets what plans make of graphs.
  void clear();
  /// The same, but for where they make nothing: graphs take memory.
  void clear_graphs();

 private:
  /// What a plan has come to.
  struct Progress;
  enum class Asks : std::uint8_t { kNothing, kProofs };

  /// Takes the steps of a plan as far as they can be taken: what there is before it ends, and when
  /// it has ended.
  std::vector<Progress> taken(const Progress& from, const transforms::RewriteSequence& plan,
                              Asks asks);
  /// Whether one of these may be a gain over `best`. No takes far less time than taken() in a large
  /// graph.
  bool may_pay(const Progress& from, const transforms::RewriteSequence& plan, const Score& best);
  /// Takes the steps for both; `at_end` is called where the plan may end before its last step.
  /// False: a step cannot be taken, although its rule matches.
  template <class Edit>
  bool follow(Edit& edit, const Progress& from, const transforms::RewriteSequence& plan, Asks asks,
              Progress& now, const std::function<void()>& at_end);
  /// Of the step, with the first rule that may be used where the tensors are computed, or would be.
  template <class SomeGraph>
  std::optional<Step> step_at(const SomeGraph& graph, const transforms::RewriteStep& wanted,
                              const std::vector<core::TensorId>& results, Asks asks);
  /// Whether NaN and infinities matter where the rule matches.
  verifier::SpecialsAt specials_at(const core::Graph& graph, const rules::Match& match) const;
  std::shared_ptr<const ops::SpecialValues> specials_of(const core::Graph& graph) const;
  bool may_rewrite(const core::Graph& graph, const rules::Match& match) const;
  // A graph under edit answers as if NaN and infinities mattered nowhere, and nothing was opaque.
  static verifier::SpecialsAt specials_at(const rules::EditedGraph&, const rules::Match&) {
    return {};
  }
  static bool may_rewrite(const rules::EditedGraph&, const rules::Match&) { return true; }
  /// The rule of that text, made when it is first asked for. None: there is none, or it may not be
  /// used.
  std::shared_ptr<const rules::Rule> rule_of(const transforms::RewriteStep& step,
                                             const std::string& text);
  /// Precondition: mutex_ is locked.
  std::shared_ptr<const rules::Rule> keep_draft(const std::string& name,
                                                std::shared_ptr<const rules::Rule> draft);
  /// Its number among the rules of the admission, of which it becomes one.
  core::RuleId id_of(const rules::Rule& rule);
  /// What plans made of graphs by rules of these names, before their proofs were refused.
  void forget(const std::set<std::string>& refused);

  verifier::Admission& admission_;
  const Objective& objective_;
  std::function<bool(const rules::Rule&)> may_be_used_;
  bool behind_opaque_;
  bool takes_all_ = false;
  std::atomic<std::size_t> left_out_ = 0;
  ops::SpecialValues specials_;
  Asks asks_ = Asks::kNothing;
  /// By name, rules made for graphs of which a proof was asked.
  std::map<std::string, core::RuleId> asked_;

  /// What a finder's plans make of a graph. Made by the thread that is there first.
  struct Taken {
    std::once_flag once;
    std::optional<Candidate> better;  ///< None: nothing that pays.
  };
  mutable std::mutex mutex_;  ///< Of what follows.
  /// By name, the last other rules. Most plans do not pay, and their rules would take more memory
  /// than all else.
  std::map<std::string, std::shared_ptr<const rules::Rule>> drafts_, older_drafts_;
  /// By hash of the graph and of the steps that have led to it.
  std::map<std::pair<std::uint64_t, const transforms::Transform*>, Taken> taken_;
  /// Remembers where NaN and infinities matter in the last graphs, by hash with ids.
  mutable std::map<std::uint64_t, std::shared_ptr<const ops::SpecialValues>> known_specials_;
};

}  // namespace soapstone::search
