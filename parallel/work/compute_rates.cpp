#include "parallel/work/compute_rates.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

/// Elementwise arithmetic runs on the ordinary units, whose peak is about that of 32-bit floats.
double peak(const std::map<core::DataType, double>& rates, core::DataType type) {
  const auto found = rates.find(type);
  if (found != rates.end()) return found->second;
  const auto single = rates.find(core::DataType::kFloat32);
  if (single != rates.end()) return single->second;
  return rates.empty() ? 1e12 : rates.begin()->second;
}

}  // namespace

double ComputeRates::us(core::DataType type, double flops, double bytes,
                        bool is_contraction) const {
  double arithmetic_us = 0;
  if (is_contraction && flops > 0) {
    const double full_us = flops / (peak(flops_per_s, type) * most_efficiency) * 1e6;
    arithmetic_us = full_us + (tail_us > 0 ? full_us * tail_us / (full_us + tail_us) : 0);
  }
  const double traffic_us = bytes / (bytes_per_s * bandwidth_efficiency) * 1e6;
  return std::max(arithmetic_us, traffic_us);
}

}  // namespace soapstone::parallel
