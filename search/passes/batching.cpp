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

/// Takes the steps of one pack, as far as they can be taken. Those that are done are left out.
Candidate batched(const Candidate& from, const rules::Towers& towers,
                  const std::map<std::string, core::RuleId>& by_name,
                  std::set<std::vector<TensorId>>& done, verifier::Admission& admission) {
  Candidate now{from.graph, from.cost_us, {}, {}};
  std::uint64_t kind = 0;
  for (const rules::TowerStep& wanted : towers.steps) {
    if (done.contains(wanted.results)) continue;
    const auto known = by_name.find(wanted.name);
    if (known == by_name.end()) {
      if (getenv("DBG"))
        fprintf(stderr, "no rule %s\n%s", wanted.name.c_str(), wanted.text.c_str());
      break;
    }
    const rules::Rule& rule = admission.rules()[known->second];
    const auto match = BackwardMatch(now.graph, rule).find(wanted.results);
    if (!match || !admission.admits(known->second, *match)) {
      if (getenv("DBG"))
        fprintf(stderr, "%s %s: %s\n%s", match ? "refused" : "no match", wanted.name.c_str(),
                match ? admission.refusal(known->second, *match).c_str() : "", wanted.text.c_str());
      break;
    }
    if (getenv("DBG")) fprintf(stderr, "ok %s %zu\n", wanted.name.c_str(), wanted.results.size());
    auto next = rules::apply(now.graph, rule, *match);
    if (!next) break;
    now.graph = *std::move(next);
    done.insert(wanted.results);
    kind = core::hash_combine(kind, core::hash_text(rule.name));
    Step& step = now.steps.emplace_back();
    step.rule = rule.name;
    step.base_rule = rule.base_name;
    step.id = known->second;
    step.match = *match;
  }
  for (Step& step : now.steps) step.kind = kind;
  return now;
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
  std::set<std::vector<TensorId>> done;  // results that are items already
  for (const rules::Towers& towers : rules::find_towers(from.graph)) {
    if (stopped()) break;
    auto done_now = done;
    Candidate next = batched(best, towers, by_name, done_now, admission);
    if (next.steps.empty()) continue;
    next.score = objective.score(next.graph, stage);
    next.cost_us = next.score.latency_us;
    if (getenv("DBG")) fprintf(stderr, "== %f -> %f\n", best.cost_us, next.cost_us);
    if (!objective.is_gain(best.score, next.score, stage)) continue;
    next.steps.back().gain_us = best.cost_us - next.cost_us;
    std::vector<Step> steps = std::move(best.steps);
    append_steps(steps, std::move(next.steps));
    next.steps = std::move(steps);
    best = std::move(next);
    done = std::move(done_now);
  }
  return best;
}

}  // namespace soapstone::search
