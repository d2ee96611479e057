// What a strategy that has a name presupposes of a model and of a mesh. Where that does not hold
// the strategy is refused with a reason: a plan that bends it would have its name and not its
// costs.
#pragma once

#include <string>

#include "core/base/result.h"
#include "parallel/step/plan.h"

namespace soapstone::parallel {

struct Premises {
  bool needs_training = false;
  bool needs_sequence = false;      ///< The model has a dimension of tokens, …
  bool needs_experts = false;       ///< … a contraction with experts, …
  bool needs_linear_layer = false;  ///< … a weight that a sample meets at one position only.
  bool halves_devices = false;
  /// Microbatches, and the parts of each along the batch, are of one size.
  bool divides_batch = false;
  bool uses_all_axes = false;  ///< Along each axis of the mesh some node is cut.
  MeshShape least;             ///< No size of a mesh is less.
};

/// Errors: kUnsupported if the premises do not hold of the model or of so many devices.
core::Status check_premises(const Premises& premises, const core::Graph& graph,
                            const GraphLoops& loops, const StepWork& work, bool is_training,
                            std::int64_t devices);

/// The batch and the sizes of the mesh alone.
bool holds(const Premises& premises, const MeshShape& shape, std::int64_t batch);

/// Which premise the plan breaks, as a clause; empty if it breaks none.
std::string broken_premise(const Premises& premises, const core::Graph& graph, const StepWork& work,
                           const MeshPlan& plan);

}  // namespace soapstone::parallel
