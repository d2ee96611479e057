// A model as an order of nodes: from when to when its tensors have to be there, and where little
// crosses from what comes before to what comes behind, between layers and blocks. Pipelines are cut
// there, and there tensors are kept where everything else is computed again.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "parallel/step/lifetimes.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

/// The same for all plans of a model. Vectors are by position in `nodes`, but for `positions`.
struct ModelOrder {
  std::vector<core::NodeId> nodes;     ///< Those that run.
  std::vector<std::size_t> positions;  ///< By node that runs.
  std::vector<Lifetime> lifetimes;
  /// Bytes that cross from each node and those before it to later ones, nothing being cut.
  std::vector<double> crossing_bytes;
  /// Behind the node fewer bytes cross, nothing being cut, than behind the next, and than behind
  /// the last one before it behind which another number did.
  std::vector<bool> is_narrow;
  /// Narrow places that end a block: where segments between narrow places repeat with a period, as
  /// the attention and the feed-forward part of a layer do, a block is a period of them, and ends
  /// where the least crosses.
  std::vector<bool> ends_block;
};

/// Complexity: linear.
ModelOrder model_order(const core::Graph& graph, const StepWork& work);

/// Tells, by tensor, whether it is made before one of the places and read behind it. `places` by
/// position, such as ModelOrder::is_narrow.
std::vector<bool> crossing(const core::Graph& graph, const ModelOrder& order,
                           const std::vector<bool>& places);

}  // namespace soapstone::parallel
