// The fastest plan of one shape. A step takes at least its passes, and at least what is exchanged
// for weights beside them; how much, several sums say that are additive in the choices of nodes and
// weights. Choices of nodes are looked at by the largest of these sums, ascending, and beside each
// all layouts of weights that could be the fastest.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "parallel/sharding/sharding.h"
#include "parallel/step/model_order.h"
#include "parallel/step/plan.h"
#include "parallel/step/step_time.h"

namespace soapstone::parallel {

struct Refinement {
  ShardingContext context;  ///< With memory at no price.
  const ModelOrder& order;
  std::vector<Slowness> slowness;  ///< By stage; none: 1.
  double bucket_bytes = 0, memory_bytes = 0;
  /// The plan of the shape with that sharding, timed.
  std::function<MeshPlan(Sharding)> completed;
};

/// How far it was looked.
struct RefinementEffort {
  std::int64_t looked_at = 0;  ///< Layouts of weights, each beside those before it.
  bool is_done = true;         ///< False: it was given up, and there may be a faster plan.
};

/// Replaces `plan`, which has the shape, by the fastest one that fits and takes less than it (if it
/// fits) and than `limit_us`, or gives up after about `most` looks.
RefinementEffort look_for_faster(const Refinement& refinement, double limit_us, std::int64_t most,
                                 MeshPlan& plan);

}  // namespace soapstone::parallel
