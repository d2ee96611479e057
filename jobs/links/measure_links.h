// measure_links(): how long messages and collective operations take between the ranks of this
// machine, and how fast a rank computes beside others that compute; as a topology for plans.
#pragma once

#include <cstdint>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/links/compute_rates.h"
#include "parallel/ranks/launch.h"
#include "parallel/topology/measured_collectives.h"
#include "parallel/topology/topology.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

struct LinkRequest {
  std::uint64_t largest_bytes = std::uint64_t{64} << 20;  ///< Of tensors; 8 at least.
  double time_s = 20;                                     ///< For all together, roughly.
  int ranks = 2;                                          ///< Of measure_virtual_links().
  bool is_virtual = false;  ///< Set by measure_virtual_links(): ranks are threads of one process.
};

/// A message of one rank to another, there and back, halved.
struct LinkTime {
  int from = 0, to = 0;
  double latency_us = 0;   ///< Of 8 bytes.
  double bytes_per_s = 0;  ///< Of the largest tensor.
};

struct LinkOutcome {
  int ranks = 0;
  std::vector<LinkTime> links;  ///< Between any two ranks, or the first and any if there are many.
  /// For each number of ranks that divides all: times while all such groups are at work. Of each
  /// size the slowest rank, and of many tries the lower quartile.
  std::vector<parallel::MeasuredCollective> collectives;
  ComputeBeside compute;
  bool was_busy = false;  ///< Other processes took so much that times are longer for it.
};

/// All ranks call it, and have the same outcome. The first one reports progress; who was told to
/// stop stops all.
/// Errors: kUsage for a request that cannot be, or one rank alone; kInterrupted; kUnavailable.
core::Result<LinkOutcome> measure_links(const LinkRequest& request, runtime::Collectives& ranks,
                                        const Context& context = {});

/// On `request.ranks` threads of this process.
core::Result<LinkOutcome> measure_virtual_links(const LinkRequest& request,
                                                const Context& context = {});

/// `local`: one level of as many devices as there were ranks, all alike: the slowest link counts.
/// Errors: kUnsupported for ranks on several machines.
core::Result<parallel::Topology> topology_of(const LinkOutcome& outcome,
                                             const parallel::MpiLaunch& launch = {});

}  // namespace soapstone::jobs
