// See layout_ways.h.
#include "cost/timing/layout_ways.h"

namespace soapstone::cost {
namespace {

using runtime::ExecutionPlan;
using runtime::Layout;
using runtime::RewriteStep;

void add_step(ExecutionPlan& plan, RewriteStep::Kind kind, std::size_t number) {
  plan.steps.push_back({kind, static_cast<std::uint32_t>(number)});
}

/// The conversions of tensors that lie otherwise than row-major.
void add_conversions(ExecutionPlan& plan, const core::Graph& graph,
                     const std::vector<core::TensorId>& tensors,
                     const std::vector<Layout>& layouts) {
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (layouts[k] == Layout::kRowMajor || graph.is_constant_expression(tensors[k])) continue;
    for (const auto& [from, to] :
         {std::pair{Layout::kRowMajor, layouts[k]}, {layouts[k], Layout::kRowMajor}}) {
      add_step(plan, RewriteStep::Kind::kConversion, plan.conversions.size());
      plan.conversions.push_back({tensors[k], from, to});
    }
  }
}

}  // namespace

ExecutionPlan all_layouts(const core::Graph& graph, const runtime::Backend& backend,
                          std::span<const runtime::Launch> launches) {
  ExecutionPlan plan;
  for (const runtime::Launch& launch : launches) {
    std::vector<runtime::LaunchLayouts> ways = backend.layout_ways(graph, launch);
    if (ways.size() < 2) continue;
    for (runtime::LaunchLayouts& way : ways) {
      add_conversions(plan, graph, launch.inputs, way.inputs);
      add_conversions(plan, graph, launch.outputs, way.outputs);
      add_step(plan, RewriteStep::Kind::kLaunch, plan.launches.size());
      plan.launches.push_back(launch);
      plan.layouts.push_back(std::move(way));
    }
  }
  return plan;
}

}  // namespace soapstone::cost
