// How much memory running a graph takes, known without compiling or allocating anything.
#pragma once

#include <cstddef>

#include "core/graph/graph.h"
#include "runtime/launches/backend.h"

namespace soapstone::runtime {

/// The memory that Executable::make() sets aside for a graph. Activations are all tensors that are
/// computed from the graph's inputs, its outputs included; they lie in one arena, in which bytes
/// are used again. "Peak memory" is `peak_bytes`, the size of that arena. Weights, and the graph's
/// inputs, are counted apart: their bytes are taken for as long as the model is loaded, whatever
/// the order of execution is. What kernels use while they run (Kernel::scratch_bytes) is not in it.
struct MemoryUse {
  std::size_t peak_bytes = 0;    ///< ExecutableReport::arena_bytes, for activations.
  std::size_t live_bytes = 0;    ///< Most that is live at any step; at most peak_bytes.
  std::size_t peak_steps = 0;    ///< Steps of the plan at which so much is live.
  std::size_t weight_bytes = 0;  ///< Constants that are left when constant expressions are folded.
  std::size_t input_bytes = 0;   ///< The graph's inputs.
  bool complete = true;          ///< False: some sizes are not known and count nothing.
};

/// The plan, views, joins and results in place are those of the executor.
/// Complexity: near linear in the graph.
MemoryUse memory_use(const core::Graph& graph, const Backend& backend, Fusion fusion);

}  // namespace soapstone::runtime
