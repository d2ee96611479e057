// How fast one device computes: a roofline with the share of the peak that kernels of a size reach.
#pragma once

#include <map>

#include "core/graph/tensor_type.h"

namespace soapstone::parallel {

struct ComputeRates {
  std::map<core::DataType, double> flops_per_s;  ///< At best.
  double bytes_per_s = 1e12;
  double launch_us = 4;
  /// A contraction that would take t at this share of the peak takes t + t·tail/(t + tail): large
  /// ones lose the tail, in which the device is not full any more, small ones take twice as long.
  double most_efficiency = 0.77, tail_us = 16;
  /// Share of the bandwidth that everything else reaches as a whole, with passes over memory that
  /// graphs do not show (dropout, casts, copies). The three numbers serve all sizes. They are
  /// fitted to eight published steps of GPT on A100 (arXiv 2205.05198, table 5); docs/plans.md has
  /// the command.
  double bandwidth_efficiency = 0.52;
  /// Share of the bandwidth of one kernel that streams through memory: an update of weights.
  double streaming_efficiency = 0.8;

  /// The time of one kernel; `is_contraction`: it runs on the units that reach the peak.
  double us(core::DataType type, double flops, double bytes, bool is_contraction) const;
};

}  // namespace soapstone::parallel
