// Both checks of a result: here, and by the judge.
#include <algorithm>

#include <fmt/format.h>

#include "search/optimizer.h"

namespace soapstone::search {
namespace {

/// The latitude that the rule's label asks for at the ends of floating ranges.
Latitude latitude_of(const rules::Rule& rule) {
  using rules::EdgeEffect;
  using rules::FloatBehavior;
  const bool changes_range = rule.floats == FloatBehavior::kChangesRange;
  Latitude latitude{changes_range, rule.floats >= FloatBehavior::kExtendsRange, changes_range};
  if (!rule.edges) {
    latitude.may_overflow = rule.floats != FloatBehavior::kExact;
    return latitude;
  }
  for (const rules::Edge& edge : rule.edges->all()) {
    if (edge.effect == EdgeEffect::kRecovers) latitude.may_recover = true;
    if (edge.effect != EdgeEffect::kRecovers && edge.effect != EdgeEffect::kZeroSign &&
        edge.effect != EdgeEffect::kOtherValue)
      latitude.may_overflow = true;
  }
  return latitude;
}

}  // namespace

core::Status Optimizer::prepare_checks() {
  if (!options_.verify) return core::Done{};
  EquivalenceOptions options = *options_.verify;
  options.same_constants = true;
  if (options_.judge != nullptr) judgment_.emplace(*options_.judge, original_, options);
  return core::Done{};
}

/// The latitude of all rules on the way to the result.
Latitude Optimizer::latitude() const {
  Latitude all;
  const auto note = [&](const rules::Rule& rule) {
    const Latitude one = latitude_of(rule);
    all.may_overflow = all.may_overflow || one.may_overflow;
    all.may_recover = all.may_recover || one.may_recover;
    all.may_lose = all.may_lose || one.may_lose;
  };
  for (const SimplifyStep& step : report_.simplify.steps)
    if (step.kind == SimplifyStep::Kind::kRule) note(baseline_.rules()[step.rule]);
  for (const Step& step : report_.steps) {
    if (!step.lemma) note(rules_.rules()[step.id]);
    for (std::size_t k = 0; step.lemma && k < step.lemma->steps.size(); ++k)
      note(rules_.rules()[step.lemma->steps[k].rule]);
  }
  return all;
}

core::Status Optimizer::verify() {
  if (!options_.verify || report_.result == ResultKind::kOriginal) return core::Done{};
  progress_.stage("checking equivalence");
  if (!check_) {
    EquivalenceOptions options = *options_.verify;
    options.same_constants = true;
    SOAPSTONE_ASSIGN_OR_RETURN(check_, EquivalenceCheck::make(original_, backend_, options));
  }
  check_->allow(latitude());
  // Whoever interrupts still has the best graph checked, on one sample at least: unverified it
  // could not be written.
  SOAPSTONE_ASSIGN_OR_RETURN(report_.equivalence, check_->run(report_.graph, progress_, stop_));
  if (!report_.equivalence->equal) {
    difference_ = Found{Found::By::kCheck, report_.equivalence->difference.value_or(Difference{})};
    return core::Done{};
  }
  SOAPSTONE_RETURN_IF_ERROR(ask_judge());
  return difference_ ? core::Status(core::Done{}) : check_spread();
}

/// Whether the rule may make NaN or an infinity of numbers where some of its inputs are not finite.
bool Optimizer::may_spread(const rules::Rule& rule) {
  return !rule.edges || std::ranges::any_of(rule.edges->all(), [](const rules::Edge& edge) {
    return edge.effect == rules::EdgeEffect::kNan || edge.effect == rules::EdgeEffect::kInfinity;
  });
}

/// Nothing is looked at if no rule on the way to the result may spread anything.
core::Status Optimizer::check_spread() {
  if (options_.assume_finite) return core::Done{};
  bool is_possible = false;
  for_each_use([&](verifier::Admission& rules, core::RuleId id, const rules::Match&) {
    is_possible = is_possible || may_spread(rules.rules()[id]);
  });
  if (!is_possible || interrupted()) return core::Done{};
  if (!spread_) {
    SOAPSTONE_ASSIGN_OR_RETURN(spread_,
                               SpreadCheck::make(original_, backend_, options_.verify->seed));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto difference, spread_->run(report_.graph, stop_));
  if (difference) difference_ = Found{Found::By::kSpread, *std::move(difference)};
  return core::Done{};
}

core::Status Optimizer::ask_judge() {
  if (!judgment_) {
    report_.judge = JudgeReport{{}, false, options_.why_no_judge, {}, {}};
    return core::Done{};
  }
  progress_.stage(fmt::format("asking {}", judgment_->judge().runtime()));
  judgment_->allow(latitude());
  judgment_->explain_overflow_by(
      [this](const core::Graph& graph, int sample) { return check_->leaves_range(graph, sample); });
  report_.judge = judgment_->run(report_.graph, progress_, stop_);
  if (report_.judge->looked && !report_.judge->equivalence.equal)
    difference_ =
        Found{Found::By::kJudge, report_.judge->equivalence.difference.value_or(Difference{})};
  return core::Done{};
}

void Optimizer::note_checks() {
  auto& notes = report_.notes;
  if (opaque_nodes_ > 0 && !clock_ && options_.measure)
    notes.emplace_back("nothing was timed: no runtime that times has run the model as a whole");
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
  if (report_.equivalence->cut_outputs > 0) {
    notes.push_back(fmt::format("{} results hang on opaque operators of unknown shape and were not "
                                "compared here{}",
                                report_.equivalence->cut_outputs,
                                judged ? "; " + report_.judge->runtime + " did" : ""));
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
