// See kernel_choice.h.
#include "cost/timing/kernel_choice.h"

#include "cost/timing/kernel_timing.h"
#include "cost/timing/layout_ways.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::cost {
namespace {

/// Tells the backend what is known of launches and conversions in the layouts that it chooses from.
void recall_layouts(runtime::Backend& backend, const core::Graph& graph,
                    std::span<const runtime::Launch> launches, const CostDatabase& database) {
  const runtime::ExecutionPlan ways = all_layouts(graph, backend, launches);
  const auto note = [&](const std::string& signature) {
    if (const auto known = database.find(backend.device().key(), signature))
      backend.note_cost(signature, known->cost_us);
  };
  for (std::size_t k = 0; k < ways.launches.size(); ++k)
    note(runtime::launch_signature(graph, ways.launches[k], ways.layouts[k]));
  for (const runtime::Conversion& c : ways.conversions)
    note(runtime::conversion_signature(graph.tensor(c.tensor).type, c.from, c.to));
}

}  // namespace

core::Result<Measurement> time_best_kernel(runtime::Backend& backend, const core::Graph& graph,
                                           const runtime::Launch& launch,
                                           const runtime::LaunchLayouts& layouts,
                                           const TimingOptions& options) {
  const std::vector<std::string> names = backend.candidates(graph, launch, layouts);
  if (names.empty()) return time_launch(backend, graph, launch, layouts, options);
  const std::string signature = runtime::launch_signature(graph, launch, layouts);
  std::optional<Measurement> best;
  for (const std::string& name : names) {
    if (options.must_stop())
      return core::unavailable("interrupted before all ways to run it were timed");
    backend.choose(signature, name);
    const auto measured = time_launch(backend, graph, launch, layouts, options);
    if (!measured && measured.error().code == core::ErrorCode::kInterrupted)
      return measured.error();
    // A candidate that cannot be made after all is replaced by another kernel.
    if (!measured || measured->implementation != name) continue;
    if (!best || measured->cost_us < best->cost_us) best = *measured;
  }
  backend.choose(signature, best ? best->implementation : "");
  if (best) return *best;
  return time_launch(backend, graph, launch, layouts, options);
}

std::size_t recall_kernels(runtime::Backend& backend, const core::Graph& graph,
                           runtime::Fusion fusion, const CostDatabase& database) {
  auto launches = backend.cover(graph, fusion);
  if (launches) recall_layouts(backend, graph, *launches, database);
  const runtime::ExecutionPlan plan =
      runtime::plan_execution(graph, backend, fusion, std::move(launches));
  std::size_t known = 0;
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    const std::string signature =
        runtime::launch_signature(graph, plan.launches[k], plan.layouts[k]);
    const auto measured = database.find(backend.device().key(), signature);
    if (!measured) continue;
    backend.choose(signature, measured->implementation);
    ++known;
  }
  return known;
}

}  // namespace soapstone::cost
