// Rewriting adds nodes in the same order to a region and to the whole graph, so ids of new nodes
// correspond by counting, without building anything.
#include "search/passes/improvement.h"

#include <algorithm>
#include <map>

#include "core/base/hash.h"
#include "search/base/find_again.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// Calls `read` with the nodes of the whole graph that the rewrites match, and `write` with those
/// that they replace or redirect.
template <class Read, class Write>
void for_each_touched(const Graph& whole, const Site& site, Read read, Write write) {
  const Region& region = *site.region;
  for (const RegionStep& step : site.found->steps) {
    for (const NodeId id : step.rewrite.match.nodes) {
      if (id.index() >= region.nodes.size()) continue;
      read(region.nodes[id.index()]);
      write(region.nodes[id.index()]);
    }
    for (const TensorId id : step.rewrite.match.outputs) {
      if (id.index() >= region.tensors.size()) continue;
      for (const NodeId reader : whole.consumers(region.tensors[id.index()])) write(reader);
    }
  }
}

/// Regions of a kind become neighbors; kinds keep the order in which they come.
void group_by_kind(std::vector<Site>& sites) {
  std::map<const RegionResult*, std::size_t> order;
  for (const Site& site : sites) order.emplace(site.found, order.size());
  std::ranges::stable_sort(sites, {}, [&](const Site& site) { return order.at(site.found); });
}

/// Appends ids that follow `bound` until there are `count`.
template <class Id>
void extend(std::vector<Id>& ids, std::size_t count, std::size_t& bound) {
  while (ids.size() < count) ids.emplace_back(bound++);
}

}  // namespace

bool holds(const Site& site, verifier::Admission& admission) {
  Graph graph = site.region->graph;
  for (const RegionStep& step : site.found->steps) {
    const auto& [rule, match] = step.rewrite;
    const auto again =
        find_again(graph, admission, {rule, step.lemma, match.nodes, match.inputs, match.sizes});
    if (!again || again->outputs != match.outputs) return false;
    auto next = rules::apply(graph, step.lemma ? step.lemma->rule : admission.rules()[rule], match);
    if (!next) return false;
    graph = *std::move(next);
  }
  return true;
}

Graph graph_behind(const Graph& region, const rules::RuleSet& rules,
                   std::span<const RegionStep> steps) {
  Graph graph = region;
  for (const RegionStep& step : steps) {
    auto next = rules::apply(graph, rules[step.rewrite.rule], step.rewrite.match);
    CHECK(next.ok(), "a rewrite that fitted once does not fit again");
    graph = *std::move(next);
  }
  return graph;
}

void price_by_latency(const Graph& region, const rules::RuleSet& rules, cost::CostModel& latency,
                      RegionResult& result) {
  Graph graph = region;
  result.cost_after_us = result.cost_before_us = latency.graph_cost(region).total_us;
  for (RegionStep& step : result.steps) {
    auto next = rules::apply(graph, rules[step.rewrite.rule], step.rewrite.match);
    CHECK(next.ok(), "a rewrite that fitted once does not fit again");
    graph = *std::move(next);
    const double cost_us = latency.graph_cost(graph).total_us;
    step.gain_us = result.cost_after_us - cost_us;
    result.cost_after_us = cost_us;
  }
}

std::vector<Site> select_disjoint(const Graph& whole, std::vector<Site> sites) {
  std::ranges::stable_sort(sites, std::ranges::greater{},
                           [](const Site& site) { return site.found->gain_us(); });
  std::vector<bool> written(whole.node_bound());
  std::vector<Site> selected;
  for (const Site& site : sites) {
    bool free = true;
    for_each_touched(
        whole, site, [&](NodeId id) { free = free && !written[id.index()]; }, [](NodeId) {});
    if (!free) continue;
    for_each_touched(
        whole, site, [](NodeId) {}, [&](NodeId id) { written[id.index()] = true; });
    selected.push_back(site);
  }
  group_by_kind(selected);
  return selected;
}

std::vector<Step> steps_on(const Graph& whole, std::span<const Site> sites,
                           const rules::RuleSet& rules) {
  std::vector<Step> steps;
  std::size_t node_bound = whole.node_bound(), tensor_bound = whole.tensor_bound();
  for (std::uint32_t number = 0; const Site& site : sites) {
    const std::uint64_t kind = core::hash_bytes(std::as_bytes(std::span(site.region->signature)));
    std::vector<NodeId> nodes = site.region->nodes;
    std::vector<TensorId> tensors = site.region->tensors;
    for (const RegionStep& step : site.found->steps) {
      const rules::Rule& rule = step.lemma ? step.lemma->rule : rules[step.rewrite.rule];
      rules::Match match = step.rewrite.match;
      for (NodeId& id : match.nodes) id = nodes[id.index()];
      for (TensorId& id : match.inputs) id = tensors[id.index()];
      for (TensorId& id : match.outputs) id = tensors[id.index()];
      extend(nodes, step.node_bound_after, node_bound);
      extend(tensors, step.tensor_bound_after, tensor_bound);
      const std::string origin = step.lemma ? origins_of(*step.lemma, rules) : rule.base_name;
      steps.push_back({rule.name, origin, step.rewrite.rule, std::move(match), step.gain_us,
                       step.lemma, number, kind});
    }
    ++number;
  }
  return steps;
}

}  // namespace soapstone::search
