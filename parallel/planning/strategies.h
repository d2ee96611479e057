// A plan with a strategy, with the others beside it. The best plan is no slower than that of any
// strategy with a name, as all of them are among those that it is chosen from.
#pragma once

#include <vector>

#include "parallel/planning/mesh_planner.h"
#include "parallel/planning/named.h"

namespace soapstone::parallel {

/// What planning with one strategy came to; the error says why it cannot be used.
struct PlannedStrategy {
  const NamedStrategy* strategy = nullptr;
  core::Result<MeshPlanOutcome> outcome;
};

struct PlannedStrategies {
  MeshPlanOutcome chosen;
  std::vector<PlannedStrategy> others;  ///< In the order of named_strategies().
  std::size_t meshes_tried = 0;         ///< All strategies together.
};

enum class Others : std::uint8_t {
  /// All for the best plan, as far as they may be faster; else data parallelism alone, with which
  /// plans are compared.
  kNeeded,
  kAll,
};

/// Plans with `strategy`, whatever the freedom of the options is. If it is stopped there are fewer
/// others. Errors: those of plan_on_meshes() for `strategy`.
core::Result<PlannedStrategies>
plan_strategies(const core::Graph& graph, const std::vector<bool>& is_weight,
                const Topology& topology, const MeshPlanOptions& options,
                const NamedStrategy& strategy, Others others, core::ProgressSink& progress,
                const core::StopToken& stop);

}  // namespace soapstone::parallel
