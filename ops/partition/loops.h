// All loops of an operator: every way to cut it into parts that can be computed apart, found from
// its comprehension alone. FlexFlow's SOAP (section 4) with the loops of all outputs, of sums and
// maxima, and of single digits of a dimension.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "ops/analysis/analysis.h"

namespace soapstone::ops {

namespace partition {
class DigitSpace;
}

/// What the results of a loop's parts come to.
enum class Joined : std::uint8_t {
  kIndex,  ///< Each part gives other elements of the result.
  kSum,
  kMax,
  kMin,
  kSame,  ///< Each part gives the whole result: what depends on the loop was joined in between.
};

/// SOAP role of a loop.
enum class DimRole : std::uint8_t {
  kSample,     ///< All data inputs are indexed by it alone: independent samples.
  kAttribute,  ///< Neighbors are read too (height and width), or some data input not at all.
  kParameter,  ///< Cuts a weight: output channels.
  kReduction,  ///< Parts are partial sums or maxima of the result.
  kWhole,      ///< Parts must join some stages before they can go on: the axis of a softmax.
};

/// How a dimension of a tensor moves with a loop: iteration i touches the elements e of it with
/// divisor·e = stride·i + w for w in `window`, and those any multiple of `period` further on.
/// A convolution of stride 2 has stride 2 and the window [−pad, kernel − pad). A dimension of 12·64
/// has stride 64 and window [0, 64) for the loop over 12, stride 1 and period 64 for that over 64.
struct LoopPlace {
  std::size_t tensor = 0;  ///< Number of the node's input or output.
  std::size_t dim = 0;
  std::int64_t stride = 1, divisor = 1;
  Interval window{0, 1};
  std::int64_t period = 0;  ///< 0: nothing repeats.
  bool operator==(const LoopPlace&) const = default;
};

/// The result of a stage of the comprehension must be joined over all parts before later stages
/// can read it.
struct StageJoin {
  std::size_t stage = 0;
  Joined joined = Joined::kSum;
  std::int64_t elements = 0;  ///< Of the stage's result, uncut.
  bool operator==(const StageJoin&) const = default;
};

struct Loop {
  DimRole role = DimRole::kSample;
  std::int64_t size = 0;           ///< Above 1. Cuts may lie anywhere.
  std::vector<Joined> joined;      ///< By output.
  std::vector<LoopPlace> outputs;  ///< Dimensions of outputs that it runs over.
  /// Dimensions of inputs that move with it. A part needs all of every other dimension as far as
  /// this loop tells; `part_regions` may need less.
  std::vector<LoopPlace> follows;
  std::vector<StageJoin> between;
  /// Inputs that one part alone may add: the bias beside a sum that is cut. It is the first part.
  std::vector<std::size_t> once;
  /// The input whose values select along the loop: the indices of a table that is cut.
  std::optional<std::size_t> selected_by;
  std::vector<core::Symbol> variables;  ///< Private to ops/partition.

  bool is_index() const { return joined[0] == Joined::kIndex; }
  const LoopPlace* output_place(std::size_t output) const;
  const LoopPlace* input_place(std::size_t input) const;  ///< The first.
};

struct PartitionSpace {
  std::vector<Loop> loops;
  std::shared_ptr<const partition::DigitSpace> digits;  ///< Private to ops/partition.
};

/// The loops of a node, by output dimension, then reductions. None if the node is opaque, a shape
/// is not known or a dimension is empty. `is_weight[k]`: input k is a parameter.
PartitionSpace partition_space(const core::Graph& graph, core::NodeId node,
                               const std::vector<bool>& is_weight);

/// The same for all live nodes, by node number; equal nodes are analyzed once. `is_weight`: by
/// tensor number.
std::vector<PartitionSpace> partition_spaces(const core::Graph& graph,
                                             const std::vector<bool>& is_weight);

}  // namespace soapstone::ops
