// See fair_share.h. Rates are found by filling: the fullest channel settles the flows that use it.
#include "parallel/simulation/fair_share.h"

#include <algorithm>
#include <limits>

namespace soapstone::parallel {

void FairShare::advance(double now_us) {
  for (Flow& flow : flows_)
    flow.bytes = std::max(0.0, flow.bytes - flow.bytes_per_us * (now_us - now_us_));
  now_us_ = now_us;
}

void FairShare::share() {
  std::vector<double> left(channels_.size());
  std::vector<int> users(channels_.size());
  for (std::size_t k = 0; k < left.size(); ++k) left[k] = channels_[k].bytes_per_s / 1e6;
  for (Flow& flow : flows_) {
    flow.bytes_per_us = -1;
    for (const std::uint32_t channel : flow.route) ++users[channel];
  }
  for (std::size_t settled = 0; settled < flows_.size();) {
    std::size_t fullest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < left.size(); ++k)
      if (users[k] > 0 && left[k] / users[k] < least) {
        least = left[k] / users[k];
        fullest = k;
      }
    for (Flow& flow : flows_) {
      if (flow.bytes_per_us >= 0 || std::ranges::find(flow.route, fullest) == flow.route.end())
        continue;
      flow.bytes_per_us = least;
      ++settled;
      for (const std::uint32_t channel : flow.route) {
        left[channel] = std::max(0.0, left[channel] - least);
        --users[channel];
      }
    }
  }
}

void FairShare::start(std::uint32_t id, double bytes, std::span<const std::uint32_t> route,
                      double now_us) {
  advance(now_us);
  flows_.push_back({id, bytes, route});
  share();
}

std::optional<FairShare::Next> FairShare::next() const {
  std::optional<Next> first;
  for (const Flow& flow : flows_) {
    const double us = now_us_ + flow.bytes / flow.bytes_per_us;
    if (!first || us < first->us) first = Next{flow.id, us};
  }
  return first;
}

void FairShare::finish(std::uint32_t id, double now_us) {
  advance(now_us);
  std::erase_if(flows_, [&](const Flow& flow) { return flow.id == id; });
  share();
}

}  // namespace soapstone::parallel
