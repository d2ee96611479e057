// See kernel_choice.h.
#include "cost/timing/kernel_choice.h"

#include "cost/timing/kernel_timing.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::cost {

core::Result<Measurement> time_best_kernel(runtime::Backend& backend, const core::Graph& graph,
                                           const runtime::Launch& launch,
                                           const runtime::LaunchLayouts& layouts,
                                           const TimingOptions& options) {
  const std::vector<std::string> names = backend.candidates(graph, launch, layouts);
  if (names.empty()) return time_launch(backend, graph, launch, layouts, options);
  const std::string signature = runtime::launch_signature(graph, launch, layouts);
  std::optional<Measurement> best;
  for (const std::string& name : names) {
    if (options.stop && options.stop->stop_requested())
      return core::unavailable("interrupted before all ways to run it were timed");
    backend.choose(signature, name);
    const auto measured = time_launch(backend, graph, launch, layouts, options);
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
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, backend, fusion);
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
