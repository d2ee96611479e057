// See measure_links.h.
#include "jobs/links/measure_links.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/machine_load.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "jobs/links/collective_timing.h"
#include "parallel/topology/processors.h"
#include "runtime/collectives/virtual_ranks.h"

namespace soapstone::jobs {
namespace {

constexpr double kComputeShare = 0.1;  ///< Of the time, for computing beside each other.
constexpr int kMostLinkedRanks = 8;    ///< More ranks are linked to the first alone.

/// Other processes than the ranks. `processes`: the ranks, all of which are at work.
bool is_busy_besides(const std::optional<core::LoadSample>& before, int processes) {
  const auto after = core::sample_load();
  if (!before || !after) return false;
  auto load = core::load_between(*before, *after);
  if (!load) return false;
  load->others = std::max(0.0, load->others - (processes - 1));
  return load->is_busy();
}

core::Status check_links(const LinkRequest& request, int ranks) {
  if (ranks < 2)
    return usage_error("links are between two ranks at least", "set `ranks` to 2 or more");
  if (request.largest_bytes < kLeastBytes)
    return usage_error("`largest_bytes` is less than 8", "give the largest tensor's bytes");
  if (!(request.time_s > 0))
    return usage_error("`time_s` is not positive", "give a number of seconds");
  return core::Done{};
}

std::vector<std::pair<int, int>> pairs_of(int ranks) {
  std::vector<std::pair<int, int>> pairs;
  for (int from = 0; from < ranks; ++from)
    for (int to = from + 1; to < ranks; ++to)
      if (from == 0 || ranks <= kMostLinkedRanks) pairs.emplace_back(from, to);
  return pairs;
}

/// Every number of ranks above 1 that divides all.
std::vector<int> group_sizes(int ranks) {
  std::vector<int> sizes;
  for (int size = 2; size <= ranks; ++size)
    if (ranks % size == 0) sizes.push_back(size);
  return sizes;
}

}  // namespace

core::Result<LinkOutcome> measure_links(const LinkRequest& request, runtime::Collectives& ranks,
                                        const Context& context) {
  SOAPSTONE_RETURN_IF_ERROR(check_links(request, ranks.size()));
  const auto pairs = pairs_of(ranks.size());
  const auto sizes = group_sizes(ranks.size());
  const auto load = core::sample_load();
  LinkOutcome outcome;
  outcome.ranks = ranks.size();
  context.progress.stage("computing alone and together");
  const double compute_s = request.time_s * kComputeShare / 4;
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.compute, measure_compute(ranks, compute_s));

  const double parts = static_cast<double>(pairs.size() + sizes.size());
  CollectiveTiming timing(ranks, request.largest_bytes, context,
                          request.time_s * (1 - kComputeShare) / parts);
  for (const auto& [from, to] : pairs) {
    context.progress.stage(fmt::format("messages between ranks {} and {}", from, to));
    SOAPSTONE_ASSIGN_OR_RETURN(const MessageTimes times, timing.messages(from, to));
    outcome.links.push_back({from, to, times.least_us, times.bytes_per_s});
    if (from == 0 && to == 1) outcome.collectives.push_back(times.measured);
  }
  for (const int size : sizes) {
    context.progress.stage(fmt::format("collective operations of {} ranks", size));
    SOAPSTONE_ASSIGN_OR_RETURN(auto measured, timing.groups(size));
    std::ranges::move(measured, std::back_inserter(outcome.collectives));
  }
  outcome.was_busy = is_busy_besides(load, request.is_virtual ? 1 : ranks.size());
  if (outcome.was_busy)
    context.progress.log(core::LogLevel::kWarning,
                         "other processes use this machine: times are longer than they should be");
  return outcome;
}

core::Result<LinkOutcome> measure_virtual_links(const LinkRequest& request,
                                                const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<LinkOutcome> {
    SOAPSTONE_RETURN_IF_ERROR(check_links(request, request.ranks));
    LinkRequest on_threads = request;
    on_threads.is_virtual = true;
    auto ranks = runtime::make_virtual_ranks(request.ranks);
    std::vector<std::optional<core::Result<LinkOutcome>>> outcomes(ranks.size());
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      threads.emplace_back([&, rank] {
        const Context silent{.stop = inner.stop};
        try {
          outcomes[rank] = measure_links(on_threads, *ranks[rank], rank == 0 ? inner : silent);
        } catch (const std::exception& thrown) {
          outcomes[rank] = core::unavailable(thrown.what());
        }
        if (!*outcomes[rank]) ranks[rank]->abort(outcomes[rank]->error().message);
      });
    threads.clear();
    return *std::move(outcomes[0]);
  });
}

core::Result<parallel::Topology> topology_of(const LinkOutcome& outcome,
                                             const parallel::MpiLaunch& launch) {
  if (launch.ranks_on_node < launch.ranks)
    return core::unsupported(
        fmt::format("{} of {} ranks are on this machine, and `local` is one machine",
                    launch.ranks_on_node, launch.ranks),
        "start all ranks on one machine");
  const parallel::Processors processors = parallel::local_processors();
  const double memory_bytes =
      processors.memory_bytes_of_node * static_cast<double>(processors.nodes) / outcome.ranks;
  const double flops_per_s = outcome.compute.flops_per_s.together;
  // Arithmetic on numbers of twice the width is half as fast.
  parallel::DeviceKind thread{
      "thread",
      "cpu",
      memory_bytes,
      outcome.compute.bytes_per_s.together,
      {{core::DataType::kFloat32, flops_per_s}, {core::DataType::kFloat64, flops_per_s / 2}}};
  thread.contraction_slowdown = outcome.compute.flops_per_s.slowdown();
  thread.other_slowdown = outcome.compute.bytes_per_s.slowdown();
  const auto slowest = [&](auto field, auto better) {
    return std::ranges::max(outcome.links, better, field).*field;
  };
  const double latency_us = slowest(&LinkTime::latency_us, std::less<>());
  const double bytes_per_s = slowest(&LinkTime::bytes_per_s, std::greater<>());
  return parallel::Topology::make(
      parallel::Hierarchy{"local",
                          {std::move(thread)},
                          {{0, outcome.ranks}},
                          {{"memory", outcome.ranks, latency_us, bytes_per_s}},
                          outcome.collectives});
}

}  // namespace soapstone::jobs
