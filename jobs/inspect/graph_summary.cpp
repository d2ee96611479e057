// Counts nodes, work and memory. Work is counted as the roofline cost counts it.
#include "jobs/inspect/graph_summary.h"

#include <algorithm>
#include <map>

#include "cost/models/roofline.h"
#include "ops/analysis/analysis.h"
#include "ops/ranges/special_values.h"
#include "runtime/launches/execution_plan.h"
#include "runtime/memory/placement.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::TensorId;

/// Every tensor has a numeric type and shape.
bool has_known_sizes(const Graph& graph) {
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (!graph.contains(id)) continue;
    const core::TensorType& type = graph.tensor(id).type;
    if (!type.shape_known || !core::concrete(type.shape)) return false;
  }
  return true;
}

std::vector<OperatorCount> count_operators(const Graph& graph,
                                           const std::map<core::NodeId, double>& flops) {
  std::map<std::string, OperatorCount> by_name;
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    const bool opaque = node.op->is_opaque();
    OperatorCount& count = by_name[opaque ? node.attributes.get_text("op_type") : node.op->name];
    ++count.nodes;
    const auto work = flops.find(id);
    if (work != flops.end()) count.flops += work->second;
  }
  std::vector<OperatorCount> operators;
  for (auto& [name, count] : by_name) {
    count.name = name;
    operators.push_back(count);
  }
  std::stable_sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.nodes > b.nodes;
  });
  return operators;
}

void add_constants(const Graph& graph, GraphSummary& summary) {
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (!graph.contains(id) || !graph.tensor(id).value) continue;
    ++summary.constants;
    summary.parameters += static_cast<double>(graph.tensor(id).value->count());
    summary.parameter_bytes += static_cast<double>(graph.tensor(id).value->bytes().size());
  }
}

std::vector<std::string> names_where_specials_matter(const Graph& graph) {
  std::vector<std::string> names;
  const ops::SpecialValues specials(graph);
  const auto note = [&](TensorId id) {
    if (specials.matter_in(id)) names.push_back(graph.tensor(id).name);
  };
  std::ranges::for_each(graph.inputs(), note);
  for (const core::NodeId id : graph.order()) std::ranges::for_each(graph.node(id).outputs, note);
  return names;
}

double peak_bytes(const Graph& graph, runtime::Fusion fusion) {
  const auto backend = runtime::make_reference_backend();
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, *backend, fusion);
  const std::vector<std::optional<std::size_t>> nothing_in_place(plan.launches.size());
  const runtime::Placement placement(graph, plan, nothing_in_place);
  return static_cast<double>(placement.memory().peak_bytes);
}

}  // namespace

GraphSummary summarize(const Graph& graph, runtime::Fusion fusion) {
  GraphSummary summary;
  const runtime::LaunchPlan plan = runtime::plan_launches(graph, runtime::generic_fusion(fusion));
  std::map<core::NodeId, double> flops;
  for (const runtime::Launch& launch : plan.launches) {
    summary.bytes += cost::launch_work(graph, launch).bytes;
    for (core::NodeId node : launch.nodes()) {
      runtime::Launch alone = launch;
      alone.head = node;
      alone.epilogue.clear();
      flops[node] = cost::launch_work(graph, alone).flops;
      summary.flops += flops[node];
    }
  }
  summary.nodes = graph.order().size();
  summary.folded = plan.folded.size();
  summary.views = plan.views.size();
  summary.launches = plan.launches.size();
  summary.operators = count_operators(graph, flops);
  add_constants(graph, summary);
  summary.specials_matter_in = names_where_specials_matter(graph);
  if (has_known_sizes(graph)) summary.peak_activation_bytes = peak_bytes(graph, fusion);
  return summary;
}

}  // namespace soapstone::jobs
