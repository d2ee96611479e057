// train(): one step of training as an ONNX model: forward, gradients, update.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/train/trained_model.h"
#include "parallel/training/training_step.h"

namespace soapstone::jobs {

struct TrainRequest {
  TrainedModelRequest model;
  std::string output;  ///< Path of the file to write.
  parallel::Loss loss = parallel::Loss::kChosen;
  parallel::Optimizer optimizer = parallel::Optimizer::kSgd;
  /// Settings of the update: momentum, nesterov (1), beta1 and beta2, epsilon, weight_decay; as far
  /// as the optimizer has them.
  std::map<std::string, double> settings;
  /// Inputs and constants that are trained besides the initializers: names or patterns, as below.
  std::vector<std::string> weights;
  /// Weights that stay as they are: names, or patterns with `*`, `?` and `[…]`.
  std::vector<std::string> frozen;
  bool drop_dropout = false;  ///< Dropout does nothing; otherwise a model with one is refused.
};

/// A tensor that a step replaces.
struct StepReplacement {
  std::string input, output;
};

struct TrainOutcome {
  std::string path;
  std::string loss;           ///< Name of the output.
  std::string labels;         ///< Name of the input of the loss; empty: there is none.
  std::string learning_rate;  ///< Name of the input.
  std::string step;           ///< Name of the input that counts steps from 1; empty: there is none.
  std::vector<std::string> data;  ///< Names of the other inputs without a default.
  std::vector<StepReplacement> replaced;
  std::size_t weights = 0;             ///< Tensors that are trained.
  double parameters = 0;               ///< Their elements.
  std::size_t statistics = 0;          ///< Running statistics of batch norms.
  std::vector<std::string> untrained;  ///< Weights on which the loss does not depend.
  std::size_t forward_nodes = 0, nodes = 0;
  std::size_t by_law = 0;    ///< Gradients that rules/gradients.rules rewrote.
  std::size_t composed = 0;  ///< Gradients that were composed after their comprehension.
};

/// Errors: those of load_trained_model(); kUsage for a setting that the optimizer has not and for a
/// pattern that fits no weight; kInvalidInput if no output can have the loss or no weight leads to
/// it; kUnsupported: the loss depends on a weight through an operator without a derivative, there
/// is a dropout, or a gradient cannot be written (the message names the node); those of writing.
core::Result<TrainOutcome> train(const TrainRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
