// A clock for what ranks do together.
#pragma once

#include <functional>
#include <vector>

#include "core/base/result.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

/// Every rank gets the reductions of all values, each by itself.
core::Status join_values(runtime::Collectives& ranks, std::vector<double>& values,
                         runtime::Reduction reduction);
core::Status wait_for_all(runtime::Collectives& ranks);

using RankCall = std::function<core::Status()>;

/// Microseconds of one call on the slowest rank: the lower quartile of as many tries as `seconds`
/// allow, three at least. All ranks call it, and get the same. Errors: those of the call;
/// kInterrupted on all if `stops` is true on one.
core::Result<double> time_on_all(runtime::Collectives& ranks, const RankCall& call, double seconds,
                                 bool stops);

}  // namespace soapstone::jobs
