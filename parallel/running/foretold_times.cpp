// See foretold_times.h.
#include "parallel/running/foretold_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <variant>

#include "parallel/lowering/rank_turns.h"
#include "parallel/topology/collectives.h"

namespace soapstone::parallel {
namespace {

DeviceId device_of(std::int64_t rank) { return DeviceId(static_cast<std::size_t>(rank)); }

class Foretelling {
 public:
  Foretelling(const std::vector<RankProgram>& programs,
              const std::vector<std::vector<double>>& compute_us, const Topology& topology)
      : programs_(programs), compute_us_(compute_us), topology_(topology), now_us_(programs.size()),
        times_(programs.size()) {}

  core::Result<std::vector<std::vector<RankStepTime>>> make() {
    SOAPSTONE_RETURN_IF_ERROR(
        run_in_turns(programs_, [&](std::size_t rank, const RankStep& step, bool is_first) {
          return core::Result<bool>(take(rank, step, is_first));
        }));
    return std::move(times_);
  }

 private:
  bool take(std::size_t rank, const RankStep& step, bool is_first) {
    if (const auto* messages = std::get_if<MessageStep>(&step))
      return take_messages(rank, *messages, is_first);
    if (const auto* reduction = std::get_if<AllReduceStep>(&step))
      return take_reduction(rank, *reduction, is_first);
    end_step(rank, now_us_[rank] + compute_us_[rank][times_[rank].size()]);
    return true;
  }

  /// Both directions of all links are used at once.
  bool take_messages(std::size_t rank, const MessageStep& step, bool is_first) {
    double sent_us = 0, received_us = 0, last_us = now_us_[rank];
    for (const Message& message : step.sent) {
      if (is_first) sent_at_us_[message.number] = now_us_[rank];
      sent_us += message_us(rank, message);
    }
    for (const Message& message : step.received) {
      const auto sent = sent_at_us_.find(message.number);
      if (sent == sent_at_us_.end()) return false;
      last_us = std::max(last_us, sent->second);
      received_us += message_us(rank, message);
    }
    end_step(rank, last_us + std::max(sent_us, received_us));
    return true;
  }

  bool take_reduction(std::size_t rank, const AllReduceStep& step, bool is_first) {
    Arrivals& arrivals = arrivals_[key_of(step)];
    if (is_first) {
      ++arrivals.ranks;
      arrivals.last_us = std::max(arrivals.last_us, now_us_[rank]);
    }
    if (arrivals.ranks < step.group.size()) return false;
    std::vector<DeviceId> devices;
    for (const std::int64_t member : step.group) devices.push_back(device_of(member));
    end_step(rank,
             arrivals.last_us + exchange_us(Collective::kAllReduce, devices, rank, step.from));
    return true;
  }

  double message_us(std::size_t rank, const Message& message) const {
    const std::array devices = {DeviceId(rank), device_of(message.peer)};
    return exchange_us(Collective::kSend, devices, rank, message.value);
  }

  double exchange_us(Collective collective, std::span<const DeviceId> devices, std::size_t rank,
                     RankValueId value) const {
    const double bytes = bytes_of(programs_[rank], value);
    return best_collective(collective, shape_of_devices(topology_, devices), bytes).us;
  }

  void end_step(std::size_t rank, double end_us) {
    times_[rank].push_back({now_us_[rank], end_us});
    now_us_[rank] = end_us;
  }

  /// Ranks that have come to a reduction, and when the last one did.
  struct Arrivals {
    std::size_t ranks = 0;
    double last_us = 0;
  };

  const std::vector<RankProgram>& programs_;
  const std::vector<std::vector<double>>& compute_us_;
  const Topology& topology_;
  std::vector<double> now_us_;                ///< By rank.
  std::map<std::size_t, double> sent_at_us_;  ///< By number of a message.
  std::map<ReductionKey, Arrivals> arrivals_;
  std::vector<std::vector<RankStepTime>> times_;
};

}  // namespace

core::Result<std::vector<std::vector<RankStepTime>>>
foretold_times(const std::vector<RankProgram>& programs,
               const std::vector<std::vector<double>>& compute_us, const Topology& topology) {
  return Foretelling(programs, compute_us, topology).make();
}

}  // namespace soapstone::parallel
