#include "search/passes/plans.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "rules/matching/match_at.h"
#include "rules/matching/rewrite.h"
#include "search/equivalence/opaque.h"
#include "search/proofs/lemma.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// The match of a rule whose results are these tensors: everything else follows from them.
template <class SomeGraph>
class BackwardMatch {
 public:
  BackwardMatch(const SomeGraph& graph, const rules::Rule& rule) : graph_(graph), rule_(rule) {}

  std::optional<rules::Match> find(const std::vector<TensorId>& results) {
    const auto outputs = rule_.source.outputs();
    if (outputs.size() != results.size()) return std::nullopt;
    for (std::size_t k = 0; k < results.size(); ++k)
      if (!bind(outputs[k], results[k])) return std::nullopt;
    std::vector<NodeId> nodes;
    for (const NodeId id : rule_.source.order()) nodes.push_back(nodes_.at(id));
    std::vector<TensorId> inputs;
    for (const TensorId id : rule_.source.inputs()) inputs.push_back(tensors_.at(id));
    return rules::match_at(graph_, rule_, nodes, inputs);
  }

 private:
  bool bind(TensorId pattern, TensorId tensor) {
    if (!pattern.valid() || !tensor.valid()) return pattern.valid() == tensor.valid();
    if (!graph_.contains(tensor)) return false;
    const auto [known, is_new] = tensors_.emplace(pattern, tensor);
    if (!is_new) return known->second == tensor;
    const NodeId its = rule_.source.tensor(pattern).producer,
                 there = graph_.tensor(tensor).producer;
    return !its.valid() || (there.valid() && bind_nodes(its, there));
  }

  bool bind_nodes(NodeId pattern, NodeId node) {
    const auto [known, is_new] = nodes_.emplace(pattern, node);
    if (!is_new) return known->second == node;
    const core::Node &wanted = rule_.source.node(pattern), &met = graph_.node(node);
    if (wanted.op != met.op || wanted.inputs.size() != met.inputs.size()) return false;
    for (std::size_t k = 0; k < wanted.inputs.size(); ++k)
      if (!bind(wanted.inputs[k], met.inputs[k])) return false;
    return true;
  }

  const SomeGraph& graph_;
  const rules::Rule& rule_;
  std::map<TensorId, TensorId> tensors_;  // by tensor of the source
  std::map<NodeId, NodeId> nodes_;        // by node of the source
};

/// Rules that are kept without being asked for a proof, and once more as many that were used before
/// these.
constexpr std::size_t kMostDrafts = 500;

bool is_behind_opaque(const Graph& graph, const rules::Match& match) {
  const std::vector<bool> depends = depends_on_opaque(graph);
  return std::ranges::any_of(match.nodes, [&](NodeId id) { return bool{depends[id.index()]}; });
}

void mark_kind(std::vector<Step>& steps) {
  std::uint64_t kind = 0;
  for (const Step& step : steps) kind = core::hash_combine(kind, core::hash_text(step.rule));
  for (Step& step : steps) step.kind = kind;
}

/// Equal graphs to which different steps have led are told apart: what is made of them has other
/// steps.
std::uint64_t hash_with_steps(const Candidate& candidate) {
  std::uint64_t hash = candidate.graph.hash();
  for (const Step& step : candidate.steps) {
    hash = core::hash_combine(hash, core::hash_text(step.rule));
    for (const NodeId id : step.match.nodes) hash = core::hash_combine(hash, id.index());
  }
  return hash;
}

/// Equal graphs with other numbers of nodes and tensors are told apart.
std::uint64_t hash_with_ids(const Graph& graph) {
  std::uint64_t hash = graph.hash();
  for (const NodeId id : graph.order()) {
    hash = core::hash_combine(hash, id.value);
    for (const TensorId read : graph.node(id).inputs) hash = core::hash_combine(hash, read.value);
    for (const TensorId result : graph.node(id).outputs)
      hash = core::hash_combine(hash, result.value);
  }
  for (const TensorId output : graph.outputs()) hash = core::hash_combine(hash, output.value);
  for (const TensorId input : graph.inputs()) hash = core::hash_combine(hash, input.value);
  return hash;
}

/// Graphs of which it is kept where NaN and infinities matter: many plans begin with one graph.
constexpr std::size_t kMostKnownSpecials = 64;

/// Puts the steps from one candidate to the next, which has these alone, behind those before.
void add_site(const Candidate& before, Candidate& next) {
  next.steps.back().gain_us = before.cost_us - next.cost_us;
  mark_kind(next.steps);
  std::vector<Step> steps = before.steps;
  append_steps(steps, std::move(next.steps));
  next.steps = std::move(steps);
}

/// Makes a graph at each step.
class GraphPerStep {
 public:
  bool may_end_anywhere = false;
  explicit GraphPerStep(const Graph& base) : graph_(&base) {}
  const Graph& graph() const { return *graph_; }
  std::optional<std::vector<TensorId>> apply(const rules::Rule& rule, const rules::Match& match) {
    auto next = rules::apply_and_follow(*graph_, rule, match);
    if (!next) return std::nullopt;
    made_ = std::move(next->graph);
    graph_ = &made_;
    return std::move(next->results);
  }

 private:
  const Graph* graph_;  // the copy of a large graph takes longer than to see that no step is there
  Graph made_;
};

/// Makes none before it is asked for one.
struct OneGraph {
  OneGraph(const Graph& base, bool ends_anywhere) : edited(base), may_end_anywhere(ends_anywhere) {}
  const rules::EditedGraph& graph() const { return edited; }
  std::optional<std::vector<TensorId>> apply(const rules::Rule& rule, const rules::Match& match) {
    return edited.apply(rule, match);
  }
  rules::EditedGraph edited;
  bool may_end_anywhere;  ///< A step may be refused for what is not asked here.
};

}  // namespace

struct PlanTaker::Progress {
  Candidate candidate;  ///< Its steps are those of the plan.
  /// What stands where tensors of the graph stood that a step has replaced.
  std::map<TensorId, TensorId> replaced;

  TensorId now_at(TensorId id) const {
    const auto known = replaced.find(id);
    return known != replaced.end() ? known->second : id;
  }
  /// Of a step without an operand, in the graph as it is now.
  template <class SomeGraph>
  std::vector<TensorId> results_of(const transforms::RewriteStep& step,
                                   const SomeGraph& graph) const {
    std::vector<TensorId> results;
    for (const TensorId id : step.results) results.push_back(now_at(id));
    for (const TensorId id : step.readers_of) {
      const TensorId read = now_at(id);
      if (!graph.contains(read)) return {};
      for (const NodeId reader : graph.consumers(read))
        results.push_back(graph.node(reader).outputs[0]);
    }
    return results;
  }
};

PlanTaker::PlanTaker(verifier::Admission& admission, const Objective& objective,
                     std::function<bool(const rules::Rule&)> may_be_used, bool behind_opaque)
    : admission_(admission), objective_(objective), may_be_used_(std::move(may_be_used)),
      behind_opaque_(behind_opaque) {
  const auto all = admission.rules().rules();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].is_placed) asked_.emplace(all[k].name, core::RuleId(k));
}

std::shared_ptr<const rules::Rule> PlanTaker::rule_of(const transforms::RewriteStep& step,
                                                      const std::string& text) {
  std::string name = transforms::rule_name(text);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = drafts_.find(name); known != drafts_.end()) return known->second;
    if (const auto known = older_drafts_.find(name); known != older_drafts_.end())
      return keep_draft(name, known->second);
  }
  std::shared_ptr<const rules::Rule> draft;
  if (const auto asked = asked_.find(name); asked != asked_.end()) {
    draft = std::make_shared<rules::Rule>(admission_.rules()[asked->second]);
  } else if (auto rule = transforms::made_rule(step, text);
             rule && (!may_be_used_ || may_be_used_(*rule))) {
    draft = std::make_shared<rules::Rule>(*std::move(rule));
  }
  const std::lock_guard lock(mutex_);
  return keep_draft(name, std::move(draft));
}

std::shared_ptr<const rules::Rule> PlanTaker::keep_draft(const std::string& name,
                                                         std::shared_ptr<const rules::Rule> draft) {
  if (drafts_.size() >= kMostDrafts) older_drafts_ = std::exchange(drafts_, {});
  return drafts_.emplace(name, std::move(draft)).first->second;
}

core::RuleId PlanTaker::id_of(const rules::Rule& rule) {
  const auto [known, is_new] =
      asked_.emplace(rule.name, core::RuleId(admission_.rules().rules().size()));
  if (is_new) admission_.add_placed({rule});
  return known->second;
}

template <class Edit>
bool PlanTaker::follow(Edit& edit, const Progress& from, const transforms::RewriteSequence& plan,
                       Asks asks, Progress& now, const std::function<void()>& at_end) {
  now.replaced = from.replaced;
  TensorId last = TensorId::none();
  for (const transforms::RewriteStep& wanted : plan.steps) {
    const auto is_taken = [&](TensorId id) { return from.replaced.contains(id); };
    if (std::ranges::any_of(wanted.results, is_taken)) continue;  // by another plan
    const auto& graph = edit.graph();
    std::vector<TensorId> results = now.results_of(wanted, graph);
    if (wanted.operand) results = {graph.node(graph.tensor(last).producer).inputs[*wanted.operand]};
    if ((wanted.ends || edit.may_end_anywhere) && !now.candidate.steps.empty()) at_end();
    auto step = step_at(graph, wanted, results, asks);
    if (!step && wanted.is_optional) continue;
    if (!step) break;
    const auto made = edit.apply(step->rewriting(admission_.rules()), step->match);
    if (!made) return false;
    if (!wanted.operand) {
      for (std::size_t k = 0; k < wanted.results.size(); ++k)
        now.replaced.insert_or_assign(wanted.results[k], (*made)[k]);
      // Readers may be nodes of the graph.
      for (std::size_t k = wanted.results.size(); k < results.size(); ++k)
        now.replaced.insert_or_assign(results[k], (*made)[k]);
      last = made->front();
    }
    now.candidate.steps.push_back(*std::move(step));
  }
  return true;
}

std::vector<PlanTaker::Progress>
PlanTaker::taken(const Progress& from, const transforms::RewriteSequence& plan, Asks asks) {
  std::vector<Progress> found;
  Progress now;
  GraphPerStep edit(from.candidate.graph);
  const auto note = [&] {
    now.candidate.graph = edit.graph();
    found.push_back(now);
  };
  follow(edit, from, plan, asks, now, note);
  if (!now.candidate.steps.empty()) note();
  return found;
}

bool PlanTaker::may_pay(const Progress& from, const transforms::RewriteSequence& plan,
                        const Score& best) {
  Progress now;
  OneGraph edit(from.candidate.graph, !specials_.none() || !behind_opaque_);
  const auto goes_on_otherwise = [](const transforms::RewriteStep& step) {
    return step.is_optional || step.texts.size() > 1;
  };
  if (edit.may_end_anywhere && std::ranges::any_of(plan.steps, goes_on_otherwise)) return true;
  bool may_gain = false;
  const auto look = [&] {
    if (may_gain) return;
    const auto graph = edit.edited.finished();
    may_gain =
        !graph || objective_.may_be_gain(from.candidate.graph, from.candidate.score, *graph, best);
  };
  if (!follow(edit, from, plan, Asks::kNothing, now, look)) return true;
  if (!now.candidate.steps.empty()) look();
  return may_gain;
}

template <class SomeGraph>
std::optional<Step> PlanTaker::step_at(const SomeGraph& graph,
                                       const transforms::RewriteStep& wanted,
                                       const std::vector<TensorId>& results, Asks asks) {
  bool is_refused = false;
  const auto step_of = [&](const std::string& text) -> std::optional<Step> {
    const auto rule = rule_of(wanted, text);
    if (rule == nullptr) return std::nullopt;
    auto match = BackwardMatch(graph, *rule).find(results);
    if (!match || !may_rewrite(graph, *match)) return std::nullopt;
    Step step;
    step.rule = rule->name;
    step.base_rule = rule->base_name;
    step.specials = specials_at(graph, *match);
    const auto asked = asked_.find(rule->name);
    if (asked == asked_.end() && asks == Asks::kNothing) {
      step.draft = rule;
    } else {
      step.id = asked != asked_.end() ? asked->second : id_of(*rule);
      is_refused = !admission_.admits(step.id, *match, step.specials);
      if (is_refused) return std::nullopt;
    }
    step.match = *std::move(match);
    return step;
  };
  for (const std::string& text : wanted.texts)
    if (auto step = step_of(text)) return step;
  if (!is_refused) return std::nullopt;
  for (const std::string& open : transforms::with_open_sizes(wanted.texts.back()))
    if (auto step = step_of(open)) return step;
  return std::nullopt;
}

bool PlanTaker::may_rewrite(const core::Graph& graph, const rules::Match& match) const {
  return behind_opaque_ || !is_behind_opaque(graph, match);
}

verifier::SpecialsAt PlanTaker::specials_at(const core::Graph& graph,
                                            const rules::Match& match) const {
  if (specials_.none()) return {};
  return verifier::specials_at(*specials_of(graph), match);
}

std::shared_ptr<const ops::SpecialValues> PlanTaker::specials_of(const core::Graph& graph) const {
  const std::uint64_t hash = hash_with_ids(graph);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_specials_.find(hash); known != known_specials_.end())
      return known->second;
  }
  auto values = std::make_shared<const ops::SpecialValues>(specials_.again(graph));
  const std::lock_guard lock(mutex_);
  if (known_specials_.size() >= kMostKnownSpecials) known_specials_.clear();
  known_specials_.insert_or_assign(hash, values);
  return values;
}

Candidate PlanTaker::take(const Candidate& from, std::span<const transforms::RewriteSequence> plans,
                          const ObjectiveStage& stage, const std::function<bool()>& stopped) {
  // Alternatives begin where the plan before them began.
  auto best = std::make_shared<Progress>(Progress{from, {}}), begin = best;
  const auto gains = [&](Progress& next) {
    next.candidate.score = objective_.score(next.candidate.graph, stage);
    next.candidate.cost_us = next.candidate.score.latency_us;
    return objective_.is_gain(best->candidate.score, next.candidate.score, stage);
  };
  for (const transforms::RewriteSequence& plan : plans) {
    if (stopped()) break;
    if (!plan.is_alternative) begin = best;
    if (!may_pay(*begin, plan, best->candidate.score)) {
      ++left_out_;
      if (!takes_all_) continue;
    }
    std::vector<Progress> all = taken(*begin, plan, Asks::kNothing);
    if (asks_ == Asks::kProofs && std::ranges::any_of(all, gains))
      all = taken(*begin, plan, Asks::kProofs);
    for (Progress& next : all) {
      if (!gains(next)) continue;
      add_site(begin->candidate, next.candidate);
      best = std::make_shared<Progress>(std::move(next));
    }
  }
  return std::move(best->candidate);
}

Candidate PlanTaker::take(const Candidate& from, const transforms::Transform& transform,
                          const ObjectiveStage& stage, const std::function<bool()>& stopped) {
  Taken* known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    known = &taken_[{hash_with_steps(from), &transform}];
  }
  std::call_once(known->once, [&] {
    Candidate next = take(from, transform.find(from.graph), stage, stopped);
    if (next.steps.size() > from.steps.size()) known->better = std::move(next);
  });
  return known->better ? *known->better : from;
}

Candidate PlanTaker::carry_out(const Candidate& from,
                               std::span<const transforms::RewriteSequence> plans,
                               const ObjectiveStage& stage) {
  Progress now{from, {}};
  for (const transforms::RewriteSequence& plan : plans) {
    auto found = taken(now, plan, asks_);
    if (found.empty() || found.back().candidate.steps.size() != plan.steps.size()) continue;
    Candidate& next = found.back().candidate;
    next.score = objective_.score(next.graph, stage);
    if (next.score.is_too_large && !now.candidate.score.is_too_large) continue;
    next.cost_us = next.score.latency_us;
    add_site(now.candidate, next);
    now = std::move(found.back());
  }
  return std::move(now.candidate);
}

bool PlanTaker::prove(Candidate& candidate, core::Crew& crew) {
  std::vector<Step*> drafted;
  for (Step& step : candidate.steps) {
    if (!step.draft) continue;
    step.id = id_of(*step.draft);
    step.draft.reset();
    drafted.push_back(&step);
  }
  std::vector<char> is_refused(drafted.size());
  crew.each(drafted.size(), [&](std::size_t k) {
    const Step& step = *drafted[k];
    is_refused[k] = admission_.admits(step.id, step.match, step.specials) ? 0 : 1;
  });
  std::set<std::string> refused;
  for (std::size_t k = 0; k < drafted.size(); ++k)
    if (is_refused[k]) refused.insert(drafted[k]->rule);
  forget(refused);
  return refused.empty();
}

Candidate PlanTaker::drafted_with_proofs(const std::function<Candidate()>& draft) {
  asks_ = Asks::kProofs;
  Candidate made = draft();
  asks_ = Asks::kNothing;
  return made;
}

void PlanTaker::forget(const std::set<std::string>& refused) {
  const std::lock_guard lock(mutex_);
  std::erase_if(taken_, [&](const auto& entry) {
    const std::optional<Candidate>& better = entry.second.better;
    return better && std::ranges::any_of(better->steps, [&](const Step& step) {
             return step.draft && refused.contains(step.rule);
           });
  });
}

void PlanTaker::clear_graphs() {
  const std::lock_guard lock(mutex_);
  std::erase_if(taken_, [](const auto& entry) { return entry.second.better.has_value(); });
}

void PlanTaker::clear() {
  const std::lock_guard lock(mutex_);
  taken_.clear();
}

}  // namespace soapstone::search
