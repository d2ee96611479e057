// See stream_plan.h.
#include "gpu/device/stream_plan.h"

#include <algorithm>
#include <cstdint>

namespace soapstone::gpu {
namespace {

struct Bytes {
  std::uint64_t begin = 0, end = 0;
};

/// What a call reads and writes.
struct Footprint {
  std::vector<Bytes> reads, writes;
  bool is_known = true;
};

bool add_bytes(const std::vector<runtime::DeviceAddress>& addresses,
               const std::vector<std::size_t>& sizes, std::vector<Bytes>& bytes) {
  if (addresses.size() != sizes.size()) return false;
  for (std::size_t k = 0; k < addresses.size(); ++k)
    if (addresses[k]) bytes.push_back({addresses[k].value(), addresses[k].value() + sizes[k]});
  return true;
}

Footprint footprint_of(const runtime::KernelCall& call) {
  Footprint footprint;
  footprint.is_known = add_bytes(call.inputs, call.input_bytes, footprint.reads);
  footprint.is_known &= add_bytes(call.outputs, call.output_bytes, footprint.writes);
  return footprint;
}

bool overlap(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  return std::ranges::any_of(a, [&](const Bytes& x) {
    return std::ranges::any_of(b,
                               [&](const Bytes& y) { return x.begin < y.end && y.begin < x.end; });
  });
}

bool must_wait(const Footprint& later, const Footprint& earlier) {
  return !later.is_known || !earlier.is_known || overlap(earlier.writes, later.reads) ||
         overlap(earlier.writes, later.writes) || overlap(earlier.reads, later.writes);
}

class StreamPlanner {
 public:
  StreamPlanner(std::size_t calls, std::size_t most_streams)
      : most_streams_(most_streams), behind_(calls, std::vector<bool>(calls)) {
    plan_.steps.resize(calls);
  }

  /// `sources`: the calls that call `number` waits for, ascending.
  void add(std::size_t number, const std::vector<std::size_t>& sources) {
    std::vector<std::size_t> direct;
    for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
      if (behind_[number][*source]) continue;
      direct.push_back(*source);
      behind_[number][*source] = true;
      for (std::size_t k = 0; k < *source; ++k)
        if (behind_[*source][k]) behind_[number][k] = true;
    }
    StreamPlan::Step& step = plan_.steps[number];
    step.stream = stream_for(direct);
    for (const std::size_t source : direct)
      if (plan_.steps[source].stream != step.stream) step.waits.push_back(source);
    // What came before in the same stream has run, too.
    if (const auto last = last_[step.stream]) {
      behind_[number][*last] = true;
      for (std::size_t k = 0; k < *last; ++k)
        if (behind_[*last][k]) behind_[number][k] = true;
    }
    last_[step.stream] = number;
  }

  StreamPlan take() {
    plan_.streams = std::max<std::size_t>(last_.size(), 1);
    return std::move(plan_);
  }

 private:
  /// A stream that ends with what the call waits for, else a new one, else the one that has been
  /// left alone for longest.
  std::size_t stream_for(const std::vector<std::size_t>& direct) {
    for (const std::size_t source : direct)
      if (last_[plan_.steps[source].stream] == source) return plan_.steps[source].stream;
    if (last_.size() < most_streams_) {
      last_.emplace_back();
      return last_.size() - 1;
    }
    return static_cast<std::size_t>(std::ranges::min_element(last_) - last_.begin());
  }

  std::size_t most_streams_;
  StreamPlan plan_;
  std::vector<std::optional<std::size_t>> last_;  // by stream: its last call
  std::vector<std::vector<bool>> behind_;         // by call: those that have run before it
};

}  // namespace

StreamPlan plan_streams(std::span<const runtime::KernelCall> calls, std::size_t most_streams) {
  std::vector<Footprint> footprints;
  StreamPlanner planner(calls.size(), most_streams);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    footprints.push_back(footprint_of(calls[k]));
    std::vector<std::size_t> sources;
    for (std::size_t earlier = 0; earlier < k; ++earlier)
      if (must_wait(footprints[k], footprints[earlier])) sources.push_back(earlier);
    planner.add(k, sources);
  }
  return planner.take();
}

}  // namespace soapstone::gpu
