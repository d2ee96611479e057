// Both checks of a result: here, and by the judge.
#include <algorithm>

#include <fmt/format.h>

#include "search/optimizer.h"

namespace soapstone::search {
namespace {

/// Whether the rule says of itself that it may lose values at the ends of a range, if only there.
bool may_lose_values(const rules::Rule& rule) {
  using rules::EdgeEffect;
  if (rule.floats == rules::FloatBehavior::kChangesRange) return true;
  if (!rule.edges) return rule.floats != rules::FloatBehavior::kExact;
  return std::ranges::any_of(rule.edges->all(), [](const rules::Edge& edge) {
    return edge.effect != EdgeEffect::kRecovers && edge.effect != EdgeEffect::kZeroSign;
  });
}

}  // namespace

core::Status Optimizer::prepare_checks() {
  if (!options_.verify) return core::Done{};
  EquivalenceOptions options = *options_.verify;
  options.same_constants = true;
  if (options_.judge != nullptr) judgement_.emplace(*options_.judge, original_, options);
  return core::Done{};
}

bool Optimizer::may_overflow() const {
  const auto lemma_may = [&](const Lemma& lemma) {
    return std::ranges::any_of(lemma.steps, [&](const LemmaStep& step) {
      return may_lose_values(rules_.rules()[step.rule]);
    });
  };
  return std::ranges::any_of(report_.simplify.steps,
                             [&](const SimplifyStep& step) {
                               return step.rule && may_lose_values(baseline_.rules()[*step.rule]);
                             }) ||
         std::ranges::any_of(report_.steps, [&](const Step& step) {
           return step.lemma ? lemma_may(*step.lemma) : may_lose_values(rules_.rules()[step.id]);
         });
}

core::Status Optimizer::verify() {
  if (!options_.verify || report_.result == ResultKind::kOriginal) return core::Done{};
  progress_.stage("checking equivalence");
  if (!check_) {
    EquivalenceOptions options = *options_.verify;
    options.same_constants = true;
    SOAPSTONE_ASSIGN_OR_RETURN(check_, EquivalenceCheck::make(original_, backend_, options));
  }
  check_->allow_overflow(may_overflow());
  // Whoever interrupts still has the best graph checked, on one sample at least: unverified it
  // could not be written.
  SOAPSTONE_ASSIGN_OR_RETURN(report_.equivalence, check_->run(report_.graph, progress_, stop_));
  if (!report_.equivalence->equal) {
    difference_ = Found{false, report_.equivalence->difference.value_or(Difference{})};
    return core::Done{};
  }
  return ask_judge();
}

core::Status Optimizer::ask_judge() {
  if (!judgement_) {
    report_.judge = JudgeReport{{}, false, options_.why_no_judge, {}};
    return core::Done{};
  }
  progress_.stage(fmt::format("asking {}", judgement_->judge().runtime()));
  judgement_->allow_overflow(may_overflow());
  report_.judge = judgement_->run(report_.graph, progress_, stop_);
  if (report_.judge->looked && !report_.judge->equivalence.equal)
    difference_ = Found{true, report_.judge->equivalence.difference.value_or(Difference{})};
  return core::Done{};
}

void Optimizer::note_checks() {
  auto& notes = report_.notes;
  if (freeze_) {
    notes.push_back(fmt::format("{} operators behind ones that are not understood were left as "
                                "they are, since nothing here "
                                "can check them ({}); --allow-unchecked rewrites them",
                                nodes_behind_opaque_, why_frozen_));
  }
  if (!report_.equivalence) return;
  const bool judged = report_.judge && report_.judge->looked;
  if (report_.equivalence->cut_nodes > 0) {
    notes.push_back(fmt::format(
        "{} opaque operators were not run here: what they read was compared, what they compute was "
        "random{}",
        report_.equivalence->cut_nodes, judged ? "; " + report_.judge->runtime + " ran them" : ""));
  }
  const std::size_t overflowed =
      report_.equivalence->overflowed() + (judged ? report_.judge->equivalence.overflowed() : 0);
  if (overflowed > 0) {
    notes.push_back(fmt::format("on inputs up to the ends of their types {} results overflowed "
                                "otherwise than the original's, "
                                "as rules that were applied say of themselves",
                                overflowed));
  }
  const int ill = report_.equivalence->ill_conditioned;
  if (ill > 0) {
    notes.push_back(fmt::format("on {} of {} inputs rounding alone moves the original's results by "
                                "more than 5 %: that both agree there says little",
                                ill, report_.equivalence->samples));
  }
}

}  // namespace soapstone::search
