#include "parallel/plans/plan_document.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "parallel/plans/plan_cuts.h"
#include "parallel/topology/topology_json.h"

namespace soapstone::parallel {
namespace {

std::string_view role_name(ops::DimRole role) { return kLoopRoles[static_cast<std::size_t>(role)]; }

std::vector<PlanAxis> axes_of(const MeshPlan& plan) {
  const std::vector<std::int64_t>& sizes = plan.axis_sizes;
  CHECK(sizes.size() == kAxisNames.size(), "a plan has all axes");
  std::vector<PlanAxis> axes;
  std::int64_t stride = 1;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    axes.push_back({std::string(kAxisNames[a]), sizes[a], stride});
    if (plan.uneven && plan.uneven->axis == a) axes.back().shares = plan.uneven->grains;
    stride *= sizes[a];
  }
  return axes;
}

class DocumentMaker {
 public:
  DocumentMaker(const core::Graph& graph, const MeshPlan& plan, PlanDocument& document)
      : graph_(graph), plan_(plan), document_(document), names_(node_names(graph)) {}

  void add_node(core::NodeId id, const ops::PartitionSpace& space) {
    NodeCuts cuts;
    const NodeChoice& choice = plan_.sharding.nodes[id.index()];
    const std::vector<std::string> loops = loop_names(space);
    for (std::size_t a = 0; a < document_.axes.size(); ++a)
      if (choice.loops[a] >= 0)
        cuts.loops[loops[static_cast<std::size_t>(choice.loops[a])]].push_back(
            document_.axes[a].name);
    const auto [at, is_new] = known_.try_emplace(cuts, document_.cuts.size());
    if (is_new) document_.cuts.push_back(cuts);
    const NodeEstimate& estimate = plan_.estimates[id.index()];
    const auto [known, is_new_estimate] =
        known_estimates_.try_emplace(estimate, document_.estimates.size());
    if (is_new_estimate) document_.estimates.push_back(estimate);
    std::vector<PlannedExchange> exchanges = exchanges_of(id);
    const auto [list, is_new_list] =
        known_exchanges_.try_emplace(exchanges, document_.exchanges.size());
    if (is_new_list) document_.exchanges.push_back(std::move(exchanges));
    document_.nodes.push_back(
        {names_[id.index()], stage_of(plan_, id), at->second, known->second, list->second});
  }

  void add_weight(core::TensorId id, const Digits& digits) {
    PlannedWeight weight{weight_name(graph_, id), {}};
    const Layout& layout = plan_.sharding.tensors[id.index()];
    for (std::size_t a = 0; a < document_.axes.size(); ++a)
      if (layout.axes[a] >= 0)
        weight.dims[digit_name(digits.digit(layout.axes[a]))].push_back(document_.axes[a].name);
    document_.weights.push_back(std::move(weight));
  }

 private:
  std::vector<PlannedExchange> exchanges_of(core::NodeId id) const {
    std::vector<PlannedExchange> list;
    for (const NodeExchange& exchange : plan_.sharding.costs[id.index()].exchanges)
      list.push_back(
          {std::string(kExchangePasses[static_cast<std::size_t>(exchange.pass)]),
           static_cast<std::int64_t>(exchange.input), std::string(to_string(exchange.step.what)),
           document_.axes[exchange.step.axis].name, exchange.step.bytes, exchange.step.us});
    return list;
  }

  const core::Graph& graph_;
  const MeshPlan& plan_;
  PlanDocument& document_;
  std::vector<std::string> names_;
  std::map<NodeCuts, std::size_t> known_;
  std::map<NodeEstimate, std::size_t> known_estimates_;
  std::map<std::vector<PlannedExchange>, std::size_t> known_exchanges_;
};

}  // namespace

std::vector<std::string> loop_names(const ops::PartitionSpace& space) {
  std::map<std::string_view, int> count;
  std::vector<std::string> names;
  for (const ops::Loop& loop : space.loops) {
    const std::string_view role = role_name(loop.role);
    const int number = ++count[role];
    names.push_back(number == 1 ? std::string(role) : fmt::format("{}{}", role, number));
  }
  return names;
}

std::vector<std::string> node_names(const core::Graph& graph) {
  std::vector<std::string> names(graph.node_bound());
  std::set<std::string> taken;
  std::size_t position = 0;
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    std::string name = node.name;
    if (name.empty() || !taken.insert(name).second) {
      name = fmt::format("{}#{}", node.op->name, position);
      taken.insert(name);
    }
    names[id.index()] = std::move(name);
    ++position;
  }
  return names;
}

std::string weight_name(const core::Graph& graph, core::TensorId id) {
  const std::string& name = graph.tensor(id).name;
  return name.empty() ? fmt::format("tensor#{}", id.index()) : name;
}

PlanDocument document_of(const core::Graph& graph, const std::vector<bool>& is_weight,
                         const Topology& topology, const MeshPlanOutcome& outcome) {
  PlanDocument document;
  document.model_hash = graph.hash();
  document.topology_hash = core::hash_text(topology_to_json(topology));
  document.topology = topology.name();
  document.shape = outcome.plan.shape;
  document.devices = outcome.plan.shape.device_count();
  document.axes = axes_of(outcome.plan);
  document.time = outcome.plan.time;
  document.lower_bound_us = outcome.lower_bound.us;
  document.bucket_bytes = outcome.plan.bucket_bytes;
  document.cuts_states = outcome.plan.cuts_states;
  const GraphLoops loops = graph_loops(graph, is_weight);
  DocumentMaker maker(graph, outcome.plan, document);
  for (const core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id)) maker.add_node(id, loops.spaces[id.index()]);
  for (std::size_t t = 0; t < is_weight.size(); ++t)
    if (is_weight[t]) maker.add_weight(core::TensorId(t), loops.digits);
  return document;
}

}  // namespace soapstone::parallel
