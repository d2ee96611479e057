// Routes in a network of wires: Dijkstra's shortest paths, by the time that 1 MiB takes.
#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "parallel/topology/topology.h"

namespace soapstone::parallel {
namespace {

constexpr double kReferenceBytes = 1 << 20;

struct Arrival {
  double us = std::numeric_limits<double>::infinity();
  std::size_t from = 0;
  std::uint32_t channel = 0;
};

}  // namespace

std::vector<ChannelId> Topology::network_route(std::size_t from, std::size_t to) const {
  std::vector<Arrival> arrivals(arcs_.size());
  arrivals[from].us = 0;
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.emplace(0.0, from);
  while (!open.empty()) {
    const auto [us, vertex] = open.top();
    open.pop();
    if (vertex == to) break;
    if (us > arrivals[vertex].us) continue;
    if (vertex != from && vertex < device_count_) continue;  // Devices pass nothing on.
    for (const Arc& arc : arcs_[vertex]) {
      const double then = us + channel(ChannelId(arc.channel)).us(kReferenceBytes);
      if (then >= arrivals[arc.to].us) continue;
      arrivals[arc.to] = {then, vertex, arc.channel};
      open.emplace(then, arc.to);
    }
  }
  std::vector<ChannelId> route;
  if (arrivals[to].us == std::numeric_limits<double>::infinity()) return route;
  for (std::size_t vertex = to; vertex != from; vertex = arrivals[vertex].from)
    route.emplace_back(std::size_t{arrivals[vertex].channel});
  std::reverse(route.begin(), route.end());
  return route;
}

/// A device to which no route leads.
std::optional<std::size_t> Topology::unreached_from(std::size_t device) const {
  std::vector<bool> is_reached(arcs_.size());
  std::vector<std::size_t> open = {device};
  is_reached[device] = true;
  while (!open.empty()) {
    const std::size_t vertex = open.back();
    open.pop_back();
    if (vertex != device && vertex < device_count_) continue;
    for (const Arc& arc : arcs_[vertex]) {
      if (is_reached[arc.to]) continue;
      is_reached[arc.to] = true;
      open.push_back(arc.to);
    }
  }
  for (std::size_t other = 0; other < device_count_; ++other)
    if (!is_reached[other]) return other;
  return std::nullopt;
}

}  // namespace soapstone::parallel
