// See min_cut.h.
#include "gpu/making/min_cut.h"

#include <algorithm>

namespace soapstone::gpu {

std::size_t MinCut::add_node() {
  leaving_.emplace_back();
  return leaving_.size() - 1;
}

void MinCut::add_cost(std::size_t near, std::size_t far, std::int64_t cost) {
  leaving_[near].push_back(edges_.size());
  edges_.push_back({far, cost});
  leaving_[far].push_back(edges_.size());
  edges_.push_back({near, 0});
}

std::vector<std::size_t> MinCut::arrivals() const {
  std::vector<std::size_t> arrival(leaving_.size(), kNone);
  std::vector<std::size_t> open{kNear};
  std::vector<bool> seen(leaving_.size());
  seen[kNear] = true;
  for (std::size_t k = 0; k < open.size(); ++k)
    for (const std::size_t edge : leaving_[open[k]]) {
      const std::size_t to = edges_[edge].to;
      if (edges_[edge].left == 0 || seen[to]) continue;
      seen[to] = true;
      arrival[to] = edge;
      open.push_back(to);
    }
  return arrival;
}

std::vector<bool> MinCut::divide() {
  std::vector<std::size_t> arrival = arrivals();
  for (; arrival[kFar] != kNone; arrival = arrivals()) {
    const auto from = [&](std::size_t node) { return edges_[arrival[node] ^ 1].to; };
    std::int64_t flow = kNever;
    for (std::size_t node = kFar; node != kNear; node = from(node))
      flow = std::min(flow, edges_[arrival[node]].left);
    for (std::size_t node = kFar; node != kNear; node = from(node)) {
      edges_[arrival[node]].left -= flow;
      edges_[arrival[node] ^ 1].left += flow;
    }
  }
  std::vector<bool> is_far(leaving_.size());
  for (std::size_t node = 0; node < is_far.size(); ++node)
    is_far[node] = node != kNear && arrival[node] == kNone;
  return is_far;
}

}  // namespace soapstone::gpu
