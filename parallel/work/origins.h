// Which dimensions of a graph's tensors come from the batch of its inputs and which from their
// sequence, followed from node to node along the loops. Strategies that have a name speak of these.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "ops/partition/loops.h"

namespace soapstone::parallel {

enum class Origin : std::uint8_t { kOther, kSequence, kBatch };

/// Numbers for the ways to cut a tensor: dimension d in consecutive pieces is number d, and a digit
/// of a dimension that repeats every `period` elements has a number of its own.
class Digits {
 public:
  /// Beyond it a digit has no number and is not cut.
  static constexpr std::size_t kMost = 100;
  /// Gives the place a number if it has none yet and there is one left.
  std::optional<std::int8_t> number(const ops::LoopPlace& place);
  /// The number, if it has one.
  std::optional<std::int8_t> find(const ops::LoopPlace& place) const;
  /// Precondition: number() gave it.
  std::size_t dimension(std::int8_t number) const { return digit(number).dim; }

  /// How far apart, in elements of the dimension, consecutive values of the digit are, and after
  /// how many they repeat; never, if `period` is 0.
  struct Digit {
    std::size_t dim;
    std::int64_t stride, period;
    auto operator<=>(const Digit&) const = default;
  };
  /// Precondition: number() gave it.
  Digit digit(std::int8_t number) const;

 private:
  static constexpr std::size_t kMostDimensions = 16;
  std::vector<Digit> inner_;  ///< Those that repeat.
};

/// The loops of all nodes, and where they come from.
struct GraphLoops {
  std::vector<ops::PartitionSpace> spaces;   ///< By node; none for constant expressions.
  std::vector<std::vector<Origin>> origins;  ///< By node and loop.
  Digits digits;
};

/// `is_weight` by tensor. The first dimension of an input that is no weight is the batch; the
/// second is the sequence if the input holds tokens (integers) or vectors (three dimensions).
/// Precondition: sizes are numbers.
GraphLoops graph_loops(const core::Graph& graph, const std::vector<bool>& is_weight);

}  // namespace soapstone::parallel
