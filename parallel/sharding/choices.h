// The ways to run one node on a mesh: for each axis the loop that it cuts, or none. What a way asks
// of the inputs, what it makes of the outputs and what it takes follow from the loops.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "parallel/sharding/mesh.h"
#include "parallel/work/compute_rates.h"
#include "parallel/work/origins.h"
#include "parallel/work/step_work.h"

namespace soapstone::parallel {

/// Which loops an axis may cut.
enum class AxisPolicy : std::uint8_t {
  kAny,
  kBatch,        ///< Loops over the batch alone.
  kBatchAlways,  ///< The same, and a node that has one must be cut there, if its size admits it.
  kNoBatch,      ///< All but loops over the batch.
  kModel,        ///< Neither batch nor sequence.
  kSequence,     ///< Loops over the sequence alone.
  /// A weight that a sample meets at one position only (a fully connected layer) is cut along its
  /// outputs; nodes with another weight are cut along the batch.
  kPositions,
  /// A node whose weight and data have a loop in common (experts) is cut there; nodes with another
  /// weight are cut along the batch.
  kExperts,
};

/// What an axis does to a node that is none of its loops, which are numbered from 0.
enum AxisRole : std::int8_t {
  kNoLoop = -1,  ///< All devices along the axis compute the same.
  /// The same, and gradients that arrive as partial sums leave as partial sums: what only moves
  /// elements need not add them first.
  kPassesSums = -2,
};

/// By axis: a loop, or an AxisRole.
using AxisLoops = std::array<std::int8_t, kMostAxes>;
inline constexpr std::int8_t kFree = -3;
inline constexpr AxisLoops kNothingFixed{kFree, kFree, kFree, kFree};

/// Microseconds that a device computes for a node.
struct PartTime {
  double forward_us = 0, backward_us = 0;
  bool operator==(const PartTime&) const = default;
};

struct NodeChoice {
  AxisLoops loops{kNoLoop, kNoLoop, kNoLoop, kNoLoop};
  std::vector<Layout> inputs, outputs;
  /// For most nodes, those of the device that takes longest. Where unlike devices share the batch,
  /// which they do in proportion to their rates, the mean: nothing makes them wait for each other.
  double forward_us = 0, backward_us = 0;
  std::vector<PartTime> by_position;  ///< On an uneven mesh, as positions_of() has them.
  bool operator==(const NodeChoice&) const = default;
};

/// Whether the places of a loop have numbers, so that layouts can speak of it.
bool has_digits(const ops::Loop& loop, const Digits& digits);

/// Sets what an axis that cuts a loop asks of the inputs of its node and makes of the outputs.
/// Precondition: has_digits(); the choice has a layout for each input and output.
void lay_loop(const ops::Loop& loop, const Digits& digits, std::size_t axis, NodeChoice& choice);

class PartTimes;

struct ChoiceOptions {
  std::vector<AxisPolicy> policies;  ///< By axis.
  std::int64_t microbatches = 1;     ///< A loop over the batch is that many times shorter.
  /// A part may be larger than the mean by this factor, where a size cannot be divided.
  double most_imbalance = 1.25;
  std::vector<ComputeRates> rates_of_kinds;  ///< On an uneven mesh, which names kinds of devices.
  const PartTimes* part_times = nullptr;     ///< Null: all is estimated.
  /// The innermost axis cuts scores of attention along heads, and products with weights along
  /// these.
  bool cuts_heads = false;
  /// By tensor: it is whole along the innermost axis. Empty: none has to be.
  std::vector<bool> whole;
  std::vector<AxisLoops> fixed;  ///< By node; kFree where there is a choice. Empty: everywhere.
};

/// What a device has of whatever an uneven axis cuts, and how fast it computes.
struct Position {
  double share = 1;
  std::int64_t grains = 1;
  const ComputeRates* rates = nullptr;
};

/// All that differ; one, if the mesh is even.
std::vector<Position> positions_of(const Mesh& mesh, const ComputeRates& rates,
                                   const ChoiceOptions& options);

struct NodeChoices {
  std::vector<NodeChoice> all;  ///< Never empty.
  /// False: the policy of an axis asks for a cut that no size of the node admits.
  bool obeys_policies = true;
};

/// `work` is that of one microbatch.
NodeChoices node_choices(const core::Graph& graph, core::NodeId node, const GraphLoops& loops,
                         const StepWork& work, const Mesh& mesh, const ComputeRates& rates,
                         const ChoiceOptions& options);

}  // namespace soapstone::parallel
