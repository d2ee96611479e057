// How fast a rank computes alone, and beside others that do the same.
#pragma once

#include "core/base/result.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

/// Rates of one rank; beside others, on average.
struct ComputeRate {
  double alone = 0, together = 0;
  /// How many times as long it takes beside others; 1 at least: less is chance.
  double slowdown() const { return together > 0 && alone > together ? alone / together : 1; }
};

struct ComputeBeside {
  ComputeRate flops_per_s;  ///< Of a large product of f32.
  ComputeRate bytes_per_s;  ///< Of additions to a tensor that no cache holds, read and written.
};

/// All ranks call it. Each of four measurements takes `seconds`. Errors: kUnavailable.
core::Result<ComputeBeside> measure_compute(runtime::Collectives& ranks, double seconds);

}  // namespace soapstone::jobs
