// Order statistics: of n samples, how many lie below the median is binomial with p = 1/2, whatever
// the distribution; so the rank of an interval's end follows from n alone.
#include "cost/timing/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace soapstone::cost {
namespace {

/// Probability that exactly k of n samples lie below the median.
double binomial_half(int n, int k) {
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) -
                  n * std::log(2.0));
}

/// How many samples to leave out at either end, so that what lies outside has at most 2.5 %.
int samples_outside(int n) {
  double below = 0;
  int outside = 0;
  while (2 * outside < n && (below += binomial_half(n, outside)) <= 0.025) ++outside;
  return std::max(outside - 1, 0);
}

}  // namespace

double quantile(std::vector<double> samples, double fraction) {
  CHECK(!samples.empty());
  const auto at = static_cast<std::size_t>(fraction * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(at),
                   samples.end());
  return samples[at];
}

MedianInterval median_interval(std::vector<double> samples) {
  CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const auto outside = static_cast<std::size_t>(samples_outside(static_cast<int>(n)));
  return {(samples[(n - 1) / 2] + samples[n / 2]) / 2, samples[outside], samples[n - 1 - outside]};
}

}  // namespace soapstone::cost
