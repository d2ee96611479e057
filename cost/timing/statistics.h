// Quantiles, and intervals that assume nothing of how times are distributed.
#pragma once

#include <span>
#include <vector>

namespace soapstone::cost {

/// The sample below which `fraction` of the others lie; always one that was measured.
/// Precondition: `samples` is not empty.
double quantile(std::vector<double> samples, double fraction);

struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

/// The fewest samples for which order statistics bound a median with 95 % confidence.
inline constexpr int kFewestForInterval = 6;

/// The median, and the narrowest pair of order statistics around it that holds the true median
/// with a probability of at least 95 %: the sign test turned around. Fewer than
/// kFewestForInterval samples give the smallest and the largest.
/// Precondition: `samples` is not empty.
MedianInterval median_interval(std::vector<double> samples);

}  // namespace soapstone::cost
