// The cheapest division of nodes in two, where each pair of nodes says what it costs to divide it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soapstone::gpu {

/// Node 0 stays on the near side, node 1 on the far one. Source: Edmonds and Karp, 1972.
class MinCut {
 public:
  static constexpr std::size_t kNear = 0, kFar = 1;
  static constexpr std::int64_t kNever = std::int64_t{1} << 50;  ///< A cost that is too high.

  std::size_t add_node();
  /// What it costs if `near` is on the near side and `far` on the far one. Precondition: cost >= 0.
  void add_cost(std::size_t near, std::size_t far, std::int64_t cost);
  /// By node: is it on the far side? Of several cheapest divisions that with the most nodes there.
  /// Complexity: O(nodes · edges²).
  std::vector<bool> divide();

 private:
  struct Edge {
    std::size_t to;
    std::int64_t left;  ///< What may still flow along it.
  };
  /// By node the edge on which a shortest path from the near side arrives; kNone: there is none.
  std::vector<std::size_t> arrivals() const;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<Edge> edges_;  // an edge, then its reverse
  std::vector<std::vector<std::size_t>> leaving_{2};
};

}  // namespace soapstone::gpu
