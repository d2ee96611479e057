// The fastest plan of one shape. A step takes at least its passes, and at least what is exchanged
// for weights beside them; how much, several sums say that are additive in the choices of nodes and
// weights. Choices of nodes are looked at by the largest of these sums, ascending, and beside each
// all layouts of weights that could be the fastest.
#pragma once

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

/// Replaces `plan`, which has the shape, by the fastest one that fits and takes less than it (if it
/// fits) and than `limit_us`. False: it has looked at so many that it has given up, and there may
/// be a faster one.
bool look_for_faster(const Refinement& refinement, double limit_us, MeshPlan& plan);

}  // namespace soapstone::parallel
