#include "parallel/step/handovers.h"

#include <algorithm>
#include <limits>
#include <map>

namespace soapstone::parallel {
namespace {

/// Counts what passes each channel, and divides its rate.
class HandoverRoutes {
 public:
  HandoverRoutes(const Topology& topology, std::int64_t of_stage)
      : topology_(topology), of_stage_(of_stage) {}

  void add(std::int64_t from, std::int64_t to) {
    for_pairs(from, to, [&](const std::vector<ChannelId>& route) {
      for (const ChannelId channel : route) ++flows_[channel];
    });
  }

  Path slowest(std::int64_t from, std::int64_t to) const {
    Path slowest{0, std::numeric_limits<double>::infinity()};
    for_pairs(from, to, [&](const std::vector<ChannelId>& route) {
      double latency_us = 0;
      for (const ChannelId id : route) {
        const Path channel = topology_.channel(id);
        latency_us += channel.latency_us;
        slowest.bytes_per_s = std::min(slowest.bytes_per_s, channel.bytes_per_s / flows_.at(id));
      }
      slowest.latency_us = std::max(slowest.latency_us, latency_us);
    });
    return slowest;
  }

 private:
  template <class Visit>
  void for_pairs(std::int64_t from, std::int64_t to, const Visit& visit) const {
    for (std::int64_t d = 0; d < of_stage_; ++d)
      visit(topology_.route(device(from, d), device(to, d)));
  }
  DeviceId device(std::int64_t stage, std::int64_t d) const {
    return DeviceId(static_cast<std::size_t>(stage * of_stage_ + d));
  }

  const Topology& topology_;
  const std::int64_t of_stage_;
  std::map<ChannelId, double> flows_;
};

}  // namespace

std::vector<Path> handovers(const Topology& topology, std::int64_t devices, std::int64_t stages,
                            bool is_ring) {
  HandoverRoutes routes(topology, devices / stages);
  const std::int64_t boundaries = stages == 1 ? 0 : is_ring ? stages : stages - 1;
  for (std::int64_t s = 0; s < boundaries; ++s) routes.add(s, (s + 1) % stages);
  std::vector<Path> paths;
  for (std::int64_t s = 0; s < boundaries; ++s)
    paths.push_back(routes.slowest(s, (s + 1) % stages));
  return paths;
}

}  // namespace soapstone::parallel
