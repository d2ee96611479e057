// See memory_schedule.h. Launches are scheduled, then nodes are put in the order of their launches;
// planning the result again shows what came of it.
#include "runtime/memory/memory_schedule.h"

#include <utility>
#include <vector>

#include "core/base/check.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// New plans to look at: another order may fuse otherwise, and then allow another order.
constexpr int kMostRounds = 3;

/// Each node with what it still needs right before it.
class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) : graph_(graph), placed_(graph.node_bound()) {}

  void place(NodeId root) {
    pending_.assign(1, root);
    while (!pending_.empty()) {
      const NodeId id = pending_.back();
      bool ready = true;
      if (!placed_[id.index()]) {
        for (const TensorId input : graph_.node(id).inputs) {
          const NodeId producer = input.valid() ? graph_.tensor(input).producer : NodeId::none();
          if (!producer.valid() || placed_[producer.index()]) continue;
          pending_.push_back(producer);
          ready = false;
        }
      }
      if (!ready) continue;
      pending_.pop_back();
      if (placed_[id.index()]) continue;
      placed_[id.index()] = true;
      order_.push_back(id);
    }
  }

  /// Nodes that no launch needed come last.
  std::vector<NodeId> finish() {
    for (const NodeId id : graph_.order()) place(id);
    return std::move(order_);
  }

 private:
  const Graph& graph_;
  std::vector<bool> placed_;
  std::vector<NodeId> pending_, order_;
};

/// The nodes of each unit of a schedule model of the plan: none for conversions.
std::vector<std::vector<NodeId>> nodes_of_units(const Graph& graph, const ExecutionPlan& plan) {
  std::vector<std::vector<NodeId>> nodes;
  for (const RewriteStep& step : plan.steps) {
    if (step.kind == RewriteStep::Kind::kLaunch) {
      nodes.push_back(plan.launches[step.number].nodes());
    } else if (step.kind == RewriteStep::Kind::kConversion) {
      nodes.emplace_back();
    } else if (const NodeId id = plan.views[step.number].node;
               graph.node(id).op->movement == core::Movement::kJoin) {
      nodes.push_back({id});
    }
  }
  return nodes;
}

/// None: the schedule promises nothing.
std::vector<NodeId> better_order(const Graph& graph, const Backend& backend, Fusion fusion,
                                 std::size_t peak_bytes, std::size_t max_states) {
  const ExecutionPlan plan = plan_execution(graph, backend, fusion);
  std::vector<std::optional<std::size_t>> in_place;
  in_place.reserve(plan.launches.size());
  for (const Launch& launch : plan.launches)
    in_place.push_back(backend.in_place_input(graph, launch));
  const Schedule schedule = schedule_units(make_schedule_model(graph, plan, in_place), max_states);
  if (schedule.peak_bytes >= peak_bytes) return {};
  const auto nodes = nodes_of_units(graph, plan);
  CHECK(nodes.size() == schedule.order.size(), "a schedule of other units");
  NodeOrder order(graph);
  for (const std::uint32_t unit : schedule.order)
    for (const NodeId id : nodes[unit]) order.place(id);
  return order.finish();
}

}  // namespace

Graph with_order(const Graph& graph, std::span<const NodeId> order) {
  core::GraphBuilder builder(graph.name(), graph.symbols());
  std::vector<TensorId> now(graph.tensor_bound());
  for (const TensorId input : graph.inputs())
    now[input.index()] = builder.add_input(graph.tensor(input).name, graph.tensor(input).type);
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (graph.contains(id) && graph.tensor(id).value)
      now[i] = builder.add_constant(graph.tensor(id).value, graph.tensor(id).name);
  }
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    std::vector<TensorId> inputs;
    inputs.reserve(node.inputs.size());
    for (const TensorId input : node.inputs)
      inputs.push_back(input.valid() ? now[input.index()] : input);
    std::vector<core::TensorType> types;
    types.reserve(node.outputs.size());
    for (const TensorId output : node.outputs) types.push_back(graph.tensor(output).type);
    const auto outputs =
        builder.add_node(*node.op, node.attributes, std::move(inputs), std::move(types), node.name);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      now[node.outputs[k].index()] = outputs[k];
      const std::string& name = graph.tensor(node.outputs[k]).name;
      if (!name.empty()) builder.set_name(outputs[k], name);
    }
  }
  std::vector<TensorId> outputs;
  for (const TensorId output : graph.outputs()) outputs.push_back(now[output.index()]);
  builder.set_outputs(std::move(outputs));
  auto result = std::move(builder).finish();
  CHECK(result.ok(), "an order of the nodes of a graph makes no graph");
  return *std::move(result);
}

OrderedGraph order_for_memory(const Graph& graph, const Backend& backend, Fusion fusion,
                              std::size_t max_states) {
  OrderedGraph best{graph, memory_use(graph, backend, fusion)};
  Graph now = graph;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto order = better_order(now, backend, fusion, best.use.peak_bytes, max_states);
    if (order.empty()) break;
    now = with_order(now, order);
    const MemoryUse use = memory_use(now, backend, fusion);
    if (use.peak_bytes >= best.use.peak_bytes) continue;
    best = {now, use};
  }
  return best;
}

}  // namespace soapstone::runtime
