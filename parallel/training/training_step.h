// From a network to one step of its training, as a graph like any other: the loss, the gradients of
// all weights and their updates. Planners divide a step among devices without knowing that it is
// one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/training/optimizer.h"

namespace soapstone::parallel {

enum class Loss : std::uint8_t {
  kChosen,  ///< kOutput if there is a scalar output; else kCrossEntropy, for a vector kSquared.
  kOutput,  ///< The last scalar output is the loss.
  kCrossEntropy,  ///< Of the softmax of the last output, whose last dimension is that of classes.
  kSquared,       ///< Mean squared error of the last output.
};

/// A tensor that a step replaces without a gradient.
struct CarriedTensor {
  core::TensorId source;   ///< A constant of the forward graph, the first value, or an input.
  core::TensorId updated;  ///< It is replaced by this. In a step: an output.
  core::TensorId value;    ///< In a step: the input. Else none.
};

struct TrainingOptions {
  Loss loss = Loss::kChosen;
  Optimizer optimizer = Optimizer::kSgd;
  /// Of the update operator (docs/operators.md), instead of its defaults and ours: alpha 0.9 and
  /// beta 1 for momentum, epsilon 1e-8 for adam.
  core::Attributes update_attributes = {};
  /// For kAdamW: a step makes a weight smaller by the learning rate times this share of it.
  double weight_decay = 0.01;
  /// kAdam and kAdamW are those of frameworks (parallel/training/adam.h), of ordinary operators and
  /// with steps from 1 on; false: of the operator `adam`, which is ONNX's.
  bool corrects_moments = false;
  /// Constants and inputs that the forward pass itself replaces: running statistics.
  std::vector<CarriedTensor> carried = {};
  /// By tensor of the forward graph: whether the backward pass may read what the forward pass made,
  /// as it may read inputs and outputs; it computes others again. Empty: it may read all.
  std::vector<bool> saved = {};
  /// Inputs and constants of the forward graph; none: all constants with floating-point elements
  /// and at least one dimension. Those on which the loss does not depend stay as they are.
  std::vector<core::TensorId> weights = {};
  /// No weights, such as the statistics of a batch norm.
  std::vector<core::TensorId> frozen = {};
};

enum class Phase : std::uint8_t { kForward, kLoss, kRecompute, kBackward, kUpdate };

struct TrainedWeight {
  core::TensorId source;  ///< In the forward graph: a constant, which is the first value; an input.
  core::TensorId value;   ///< An input of the step; of an input that input.
  core::TensorId gradient;                             ///< The derivative of the loss by it.
  core::TensorId updated;                              ///< An output.
  std::vector<core::TensorId> states, updated_states;  ///< Inputs, and the outputs in their order.
};

/// Nodes and tensors of the forward graph that are still there have the numbers that they had.
/// Outputs: the loss, then updated weights and states, then what is carried.
struct TrainingStep {
  core::Graph graph;
  core::TensorId loss;
  core::TensorId
      labels;           ///< Input of the loss: i64 classes, or what the output should be; or none.
  core::TensorId rate;  ///< Input: the learning rate, a scalar.
  core::TensorId step;  ///< Input: the number of the step, an i64 scalar; none for kSgd.
  std::vector<TrainedWeight> weights;
  std::vector<CarriedTensor> carried;
  std::vector<core::TensorId> kept;  ///< Results of the forward pass that other phases read.
  std::vector<Phase> phases;         ///< By node number.
  /// The origins of nodes of the backward pass, by node number: the node of the forward pass or the
  /// loss whose gradient it belongs to; what is computed again belongs to the first gradient that
  /// reads it. Else none.
  std::vector<core::NodeId> origins;
};

/// Says which gradients and updates are left as they are where a step is written with other
/// operators, since a device has kernels for them. None: no node stays.
using StaysNode = std::function<bool(const core::Graph&, core::NodeId)>;

/// Weights are updated if the loss depends on them through operators that have derivatives. The
/// batch is that of the forward graph. Errors: kInvalidInput if no output can have a loss, no
/// weight leads to it, or an option names what is no such tensor; kUnsupported if the loss depends
/// on a weight through an opaque node or a shape is not known.
core::Result<TrainingStep> training_step(const core::Graph& forward,
                                         const TrainingOptions& options = {});

}  // namespace soapstone::parallel
