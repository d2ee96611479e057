// How fast one device computes: a roofline with the share of the peak that kernels of a size reach.
#pragma once

#include <map>

#include "core/graph/tensor_type.h"

namespace soapstone::parallel {

struct ComputeRates {
  std::map<core::DataType, double> flops_per_s;  ///< At best.
  double bytes_per_s = 1e12;
  double launch_us = 4;
  /// Share of the peak that a contraction of very many operations reaches, and how many operations
  /// reach half of that.
  double most_efficiency = 0.8, half_flops = 4e9;
  double bandwidth_efficiency = 0.8;

  /// The time of one kernel; `is_contraction`: it runs on the units that reach the peak.
  double us(core::DataType type, double flops, double bytes, bool is_contraction) const;
};

}  // namespace soapstone::parallel
