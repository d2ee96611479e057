// How regions are searched in a pass over the graph.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "search/base/objective.h"

namespace soapstone::search {

/// How a region is searched. What different ways find is kept apart.
struct Way {
  bool saturates = false;  ///< By equality saturation, which follows latency.
  Guide guide = Guide::kLatency;
  bool folds = false;  ///< Without the rules that merge nodes and split their result.
  /// For one region: graphs to expand after its last gain, or e-nodes.
  std::uint64_t limit = 0;
  bool bounds = false;  ///< Saturation takes time for a sharp lower bound.
  auto operator<=>(const Way&) const = default;
};

/// A pass over the whole graph: the size of its regions, and how they are searched.
struct Pass {
  enum class Method : std::uint8_t {
    kMoves,       ///< Cost-based backtracking.
    kFolds,       ///< The same without the rules that merge.
    kSaturation,  ///< Equality saturation.
    kContest,     ///< For each family of regions what has found more there; see Contest.
  };
  Method method = Method::kMoves;
  std::size_t region_size = 0;
  std::uint64_t patience = 0;    ///< Graphs to expand in a region after its last gain.
  std::size_t e_nodes = 0;       ///< Most e-nodes for one region.
  std::size_t deep_e_nodes = 0;  ///< The same for a contest that goes deep.

  Way moves(Guide guide) const { return {false, guide, method == Method::kFolds, patience}; }
  Way saturates(bool deep = false) const {
    return {true, Guide::kLatency, false, deep ? deep_e_nodes : e_nodes};
  }
};

}  // namespace soapstone::search
