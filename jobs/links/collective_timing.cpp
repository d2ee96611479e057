// See collective_timing.h.
#include "jobs/links/collective_timing.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "jobs/links/rank_clock.h"

namespace soapstone::jobs {
namespace {

using parallel::Collective;
using runtime::Collectives;
using runtime::DeviceAddress;
using runtime::Elements;

DeviceAddress start_of(const std::vector<float>& values) {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data()));
}
Elements floats(DeviceAddress address, std::uint64_t bytes) {
  return {address, static_cast<std::int64_t>(bytes / sizeof(float)), core::DataType::kFloat32};
}
/// A part of the bytes of all ranks: one element at least.
Elements part_of(DeviceAddress address, std::uint64_t bytes, int ranks) {
  return floats(address,
                std::max<std::uint64_t>(sizeof(float), bytes / static_cast<std::uint64_t>(ranks)));
}

/// There and back.
core::Status ping_pong(Collectives& ranks, int from, int to, const Elements& out,
                       const Elements& back) {
  if (ranks.rank() == from) {
    SOAPSTONE_RETURN_IF_ERROR(ranks.send(out, to));
    SOAPSTONE_RETURN_IF_ERROR(ranks.receive(back, to));
  }
  if (ranks.rank() == to) {
    SOAPSTONE_RETURN_IF_ERROR(ranks.receive(back, from));
    SOAPSTONE_RETURN_IF_ERROR(ranks.send(out, from));
  }
  return ranks.wait();
}

core::Status perform(Collective collective, Collectives& group, std::uint64_t bytes,
                     DeviceAddress from, DeviceAddress to) {
  constexpr auto kSum = runtime::Reduction::kSum;
  switch (collective) {
  case Collective::kAllReduce:
    return group.all_reduce(floats(from, bytes), to, kSum);
  case Collective::kReduceScatter:
    return group.reduce_scatter(from, part_of(to, bytes, group.size()), kSum);
  case Collective::kAllGather:
    return group.all_gather(part_of(from, bytes, group.size()), to);
  case Collective::kAllToAll:
    return group.all_to_all(from, part_of(to, bytes, group.size()));
  case Collective::kBroadcast:
    return group.broadcast(floats(from, bytes), 0);
  case Collective::kSend:
    break;
  }
  return core::Done{};
}

}  // namespace

CollectiveTiming::CollectiveTiming(Collectives& ranks, std::uint64_t largest_bytes,
                                   const Context& context, double seconds)
    : ranks_(ranks), context_(context), seconds_(seconds) {
  for (std::uint64_t bytes = kLeastBytes; bytes <= largest_bytes; bytes *= 2)
    sizes_.push_back(bytes);
  // Small tensors have an element for each rank all the same.
  const std::size_t count = sizes_.back() / sizeof(float) + static_cast<std::size_t>(ranks.size());
  from_.assign(count, 1);
  to_.assign(count, 0);
}

/// Times do not fall where sizes rise: what does is chance.
core::Result<std::vector<std::pair<double, double>>> CollectiveTiming::times_of(const Call& call,
                                                                                double seconds) {
  std::vector<std::pair<double, double>> times;
  for (const std::uint64_t bytes : sizes_) {
    SOAPSTONE_ASSIGN_OR_RETURN(const double us, time_on_all(
                                                    ranks_, [&] { return call(bytes); },
                                                    seconds / static_cast<double>(sizes_.size()),
                                                    context_.stop.stop_requested()));
    times.emplace_back(static_cast<double>(bytes), us);
  }
  for (std::size_t k = times.size() - 1; k-- > 0;)
    times[k].second = std::min(times[k].second, times[k + 1].second);
  return times;
}

core::Result<MessageTimes> CollectiveTiming::messages(int from, int to) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto times, times_of(
                                             [&](std::uint64_t bytes) {
                                               return ping_pong(ranks_, from, to,
                                                                floats(start_of(from_), bytes),
                                                                floats(start_of(to_), bytes));
                                             },
                                             seconds_));
  for (auto& [bytes, us] : times) us /= 2;
  const auto& [most, most_us] = times.back();
  MessageTimes result{times.front().second, most / most_us * 1e6, {}};
  result.measured = {Collective::kSend, 2, std::move(times)};
  return result;
}

core::Result<std::vector<parallel::MeasuredCollective>> CollectiveTiming::groups(int size) {
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), ranks_.rank() / size * size);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::unique_ptr<Collectives> group, ranks_.subset(members));
  constexpr Collective kOperations[] = {Collective::kAllReduce, Collective::kReduceScatter,
                                        Collective::kAllGather, Collective::kAllToAll,
                                        Collective::kBroadcast};
  std::vector<parallel::MeasuredCollective> measured;
  for (const Collective collective : kOperations) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto times, times_of(
                                               [&](std::uint64_t bytes) {
                                                 return perform(collective, *group, bytes,
                                                                start_of(from_), start_of(to_));
                                               },
                                               seconds_ / std::size(kOperations)));
    measured.push_back({collective, size, std::move(times)});
  }
  return measured;
}

}  // namespace soapstone::jobs
