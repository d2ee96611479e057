// Which nodes of a graph a runtime runs as one kernel, as it was seen to do. A fusion is a small
// pattern of operators, found again from its last node backwards; no runtime is known here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "jobs/kernels/fusion_pattern.h"

namespace soapstone::jobs {

/// Nodes that run as one kernel, in the order of the graph; the last one makes the result.
struct KernelNodes {
  std::vector<core::NodeId> nodes;
  std::uint64_t signature = 0;  ///< See EncodedKernel.
};

/// Reading is safe from several threads as long as nobody learns.
class LearnedFusions {
 public:
  /// The signature of the nodes as one kernel; if they are several and a pattern can say what they
  /// are, it is kept. Preconditions: `nodes` is not empty, in the order of the graph, and all its
  /// nodes lead to the last one.
  std::uint64_t learn(const core::Graph& graph, std::span<const core::NodeId> nodes,
                      const IsExported& is_exported);

  /// Each node that is no constant expression in one kernel: the largest pattern that ends with it
  /// or a later node, else the node alone. In the order of the graph. Deterministic.
  std::vector<KernelNodes> cover(const core::Graph& graph) const;

  /// Whoever knows no pattern for two neighbors may still know that there is none: a hash for each
  /// edge between nodes, of what both are besides their sizes.
  static std::vector<std::uint64_t> edges(const core::Graph& graph);

  std::size_t size() const { return count_; }
  std::string to_text() const;
  /// Adds patterns that to_text() wrote. False, and nothing is added, if it is no such text.
  bool add_text(std::string_view text);

 private:
  bool add(PatternCode code);

  /// By what the last node is; larger patterns first.
  std::unordered_map<std::uint64_t, std::vector<PatternCode>> patterns_;
  std::size_t count_ = 0;
};

}  // namespace soapstone::jobs
