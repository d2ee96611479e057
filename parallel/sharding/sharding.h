// The best way to run a graph on one mesh: a choice for every node and a layout for every weight,
// such that work, changes of layout, sums of gradients and the price of memory cost least together.
#pragma once

#include <array>
#include <vector>

#include "parallel/elimination/cost_graph.h"
#include "parallel/sharding/choices.h"

namespace soapstone::parallel {

/// How much of what counts in the cost of a step.
struct StepWeights {
  double forward = 1, backward = 1;  ///< The passes of a microbatch.
  /// Weights that are gathered for a forward pass, and gathered and scattered beside a backward
  /// pass.
  double gathered = 1, exchanged_backward = 1;
  double sums = 1;     ///< Gradients of weights that are not gathered, once a step.
  double updates = 1;  ///< Weights are updated once a step.
  /// On an uneven mesh, how much the devices of each position count; empty: a node takes as long as
  /// NodeChoice says.
  std::vector<double> positions = {};
};

struct ShardingOptions {
  ChoiceOptions choices;
  bool is_training = false;
  StepWeights weights;
  /// Weights are exchanged in buckets of about so many bytes, and each pays its share of a bucket's
  /// time.
  double bucket_bytes = 0;
  /// What a byte on each device costs, so that a plan fits into its memory.
  double us_per_byte = 0;
  double kept_microbatches = 1;  ///< Microbatches whose tensors are kept at once for gradients.
  bool recomputes = false;       ///< The forward pass runs again before the backward pass.
  /// Memory beside each byte of a weight: of its gradient, and of states of the optimizer. Either
  /// may be cut along axes along which gradients are summed.
  double gradient_bytes_per_weight_byte = 0, state_bytes_per_weight_byte = 0;
  bool cuts_gradients = false, cuts_states = false;
  bool cuts_weights = true;  ///< Weights may be cut where they are needed whole, and gathered.
  bool always_cuts_weights = false;  ///< Weights are cut into as many pieces as they can be.
  /// Along which axes they may be cut beyond what readers want.
  std::array<bool, kMostAxes> weight_axes{true, true, true, true};
  /// Gradients keep the pieces of a tensor that is gathered, which the backward pass gathers again.
  bool keeps_pieces = false;
  bool gathers_once = false;  ///< The backward pass has what was gathered for the forward pass.
  std::size_t most_cases = EliminationOptions{}.most_cases;
};

/// Devices exchange this for an input of a node.
struct NodeExchange {
  enum class Pass : std::uint8_t { kForward, kBackward, kSum };
  Pass pass = Pass::kForward;  ///< kSum: of the gradient of a weight, once a step.
  std::size_t input = 0;
  ConversionStep step;
  auto operator<=>(const NodeExchange&) const = default;
};

/// What one device does for a node, with what comes in between it and its producers.
struct NodeCost {
  double forward_us = 0, backward_us = 0;  ///< One microbatch's.
  std::vector<PartTime> by_position;       ///< As in NodeChoice.
  double forward_conversion_us = 0, backward_conversion_us = 0;
  double bytes_moved = 0;               ///< Sent by a device for one microbatch.
  double sum_bytes_moved = 0;           ///< Sent by a device for sums of gradients, once a step.
  std::vector<NodeExchange> exchanges;  ///< For one microbatch, but for sums.
  double kept_bytes = 0;  ///< For gradients, of one microbatch, if nothing is computed again.
};

/// The node's share of the passes of a microbatch, in which a device computes `computed` for it,
/// exchanges that they wait for included. `runs_again`: the forward pass, before the backward pass.
PartTime passes_of(const NodeCost& node, const PartTime& computed, bool runs_again);

/// A weight as each device holds it all the time, and the time of its update, once a step.
struct HeldWeight {
  core::TensorId tensor;
  double weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  double update_us = 0;
};

/// A node reads a weight otherwise than it lies. One that is cut is gathered before each pass that
/// reads it and has its gradient scattered after each; one that is whole has its gradient summed
/// once a step.
struct WeightExchange {
  core::NodeId reader;
  double bytes = 0;  ///< The whole weight.
  Layout from, to;
  bool is_gathered = false;
};

/// The parts of a step that StepWeights weigh.
struct StepParts {
  /// The passes of one microbatch, exchanges that they wait for included, by position on an uneven
  /// mesh; a single one if positions are counted together.
  std::vector<PartTime> passes;
  /// Gathered weights of one microbatch: for its forward pass, and beside its backward pass with
  /// gradients that are scattered.
  double gathered_us = 0, exchanged_backward_us = 0;
  double summed_us = 0, updated_us = 0;  ///< Once a step.
};

/// The cost of these parts, without a price of memory.
double sum_of(const StepWeights& weights, const StepParts& parts);

struct Sharding {
  std::vector<NodeChoice> nodes;  ///< By node.
  std::vector<Layout> tensors;    ///< By tensor: how its producer leaves it, or a weight lies.
  std::vector<NodeCost> costs;    ///< By node.
  std::vector<HeldWeight> weights;
  std::vector<WeightExchange> exchanges;
  StepParts parts;  ///< All positions together, as the weights of the options count them.
  double cost_us = kImpossible;  ///< What was minimized.
  double lower_bound_us = 0;     ///< No choices cost less, in the same terms.
  /// The first node whose sizes do not admit the cut that the policy of an axis asks for.
  core::NodeId disobeys = core::NodeId::none();
};

/// The shardings of one graph on one mesh depend on these.
struct ShardingContext {
  const core::Graph& graph;
  const GraphLoops& loops;
  const StepWork& work;  ///< One microbatch's.
  const Mesh& mesh;
  const ComputeRates& rates;
  const ShardingOptions& options;
};

/// `tables` learns from equal blocks, of this graph and of others on the same mesh.
Sharding best_sharding(const ShardingContext& context, CostTables& tables);

}  // namespace soapstone::parallel
