#include "search/passes/batching.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "rules/batching/towers.h"
#include "rules/matching/match_at.h"
#include "rules/matching/rewrite.h"
#include "search/proofs/lemma.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// The match of a rule whose results are these tensors: everything else follows from them.
class BackwardMatch {
 public:
  BackwardMatch(const Graph& graph, const rules::Rule& rule) : graph_(graph), rule_(rule) {}

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

  const Graph& graph_;
  const rules::Rule& rule_;
  std::map<TensorId, TensorId> tensors_;  // by tensor of the source
  std::map<NodeId, NodeId> nodes_;        // by node of the source
};

/// Results that are items already.
using Done = std::set<std::vector<TensorId>>;

struct Batched {
  Candidate candidate;  ///< Its steps are new ones.
  Done done;
};

/// Takes the steps of one pack, as far as they can be taken, without those that are done: what
/// there is before the batch ends, and when it has ended.
std::vector<Batched> batched(const Candidate& from, const Done& before, const rules::Towers& towers,
                             const std::map<std::string, core::RuleId>& by_name,
                             verifier::Admission& admission) {
  std::vector<Batched> found;
  Candidate now{from.graph, from.cost_us, {}, {}};
  Done done = before;
  const auto keep = [&] {
    if (!now.steps.empty()) found.push_back({now, done});
  };
  TensorId last = TensorId::none();
  for (const rules::TowerStep& wanted : towers.steps) {
    if (!wanted.operand && done.contains(wanted.results)) continue;
    if (wanted.ends && found.empty()) keep();
    const auto known = by_name.find(wanted.name);
    if (known == by_name.end()) break;
    std::vector<TensorId> results = wanted.results;
    if (wanted.operand)
      results = {now.graph.node(now.graph.tensor(last).producer).inputs[*wanted.operand]};
    const rules::Rule& rule = admission.rules()[known->second];
    const auto match = BackwardMatch(now.graph, rule).find(results);
    if (!match || !admission.admits(known->second, *match)) break;
    auto next = rules::apply_and_follow(now.graph, rule, *match);
    if (!next) break;
    now.graph = std::move(next->graph);
    if (!wanted.operand) {
      done.insert(wanted.results);
      last = next->results.front();
    }
    Step& step = now.steps.emplace_back();
    step.rule = rule.name;
    step.base_rule = rule.base_name;
    step.id = known->second;
    step.match = *match;
  }
  keep();
  return found;
}

void mark_kind(std::vector<Step>& steps) {
  std::uint64_t kind = 0;
  for (const Step& step : steps) kind = core::hash_combine(kind, core::hash_text(step.rule));
  for (Step& step : steps) step.kind = kind;
}

}  // namespace

Candidate batch_towers(const Candidate& from, verifier::Admission& admission,
                       const Objective& objective, const ObjectiveStage& stage,
                       const std::function<bool()>& stopped) {
  std::map<std::string, core::RuleId> by_name;
  const auto all = admission.rules().rules();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].is_proved_on_demand) by_name.emplace(all[k].name, core::RuleId(k));
  Candidate best = from;
  Done done;
  for (const rules::Towers& towers : rules::find_towers(from.graph)) {
    if (stopped()) break;
    const Candidate before = best;
    for (Batched& next : batched(before, Done(done), towers, by_name, admission)) {
      Candidate& now = next.candidate;
      now.score = objective.score(now.graph, stage);
      now.cost_us = now.score.latency_us;
      if (!objective.is_gain(best.score, now.score, stage)) continue;
      now.steps.back().gain_us = before.cost_us - now.cost_us;
      mark_kind(now.steps);
      std::vector<Step> steps = before.steps;
      append_steps(steps, std::move(now.steps));
      now.steps = std::move(steps);
      best = std::move(now);
      done = std::move(next.done);
    }
  }
  return best;
}

}  // namespace soapstone::search
