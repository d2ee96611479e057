// See train_options.h.
#include "cli/train/train_options.h"

#include <fmt/format.h>

#include "jobs/base/usage_error.h"

namespace soapstone::cli {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 31;

void add_update_options(CommandLine& line, TrainGraphOptions& options) {
  using parallel::Optimizer;
  line.add_choice("--optimizer", options.request.optimizer,
                  {{"sgd", Optimizer::kSgd},
                   {"momentum", Optimizer::kMomentum},
                   {"adam", Optimizer::kAdam},
                   {"adamw", Optimizer::kAdamW}},
                  "What updates the weights")
      .shows_default();
  line.add("--momentum", options.momentum, "Share of the velocity that momentum keeps [0.9]")
      .type("SHARE")
      .between(0.0, 1.0);
  line.add_flag("--nesterov", options.nesterov, "Nesterov's form of momentum");
  line.add("--beta1", options.beta1, "Share of the first moment that adam and adamw keep [0.9]")
      .type("SHARE")
      .between(0.0, 1.0);
  line.add("--beta2", options.beta2, "Share of the second moment that they keep [0.999]")
      .type("SHARE")
      .between(0.0, 1.0);
  line.add("--epsilon", options.epsilon, "What they add to the root of the second moment [1e-8]")
      .type("E")
      .not_negative();
  line.add("--weight-decay", options.weight_decay,
           "Share of a weight that is added to its gradient [0]; of adamw the share by which a "
           "weight shrinks, times the learning rate [0.01]")
      .type("SHARE")
      .not_negative();
}

}  // namespace

void add_train_options(CommandLine& line, TrainGraphOptions& options) {
  jobs::TrainRequest& request = options.request;
  line.add("model", request.model.model, "ONNX file, or the name of a built-in network")
      .required()
      .type("FILE|NAME")
      .reads("the model");
  line.add("-o,--output", request.output, "ONNX file to write")
      .required()
      .type("FILE")
      .writes({.is_regular = true});
  using parallel::Loss;
  line.add_choice("--loss", request.loss,
                  {{"chosen", Loss::kChosen},
                   {"output", Loss::kOutput},
                   {"cross_entropy", Loss::kCrossEntropy},
                   {"mse", Loss::kSquared}},
                  "Loss of the last output that can have it: the output itself, cross entropy of "
                  "its softmax over the last dimension, mean squared error; or chosen by its shape")
      .shows_default();
  add_update_options(line, options);
  line.add("--freeze", request.frozen,
           "Leave a weight as it is: its name, or a pattern with *; may be repeated")
      .type("NAME")
      .one_each();
  line.add_flag("--drop-dropout", request.drop_dropout,
                "Train a model with dropout without it; otherwise it is refused");
  line.add("--set", options.settings, "Set a parameter of a built-in network; may be repeated")
      .type("KEY=NUMBER")
      .one_each();
  line.add("--batch", request.model.batch, "Samples of a step")
      .type("N")
      .between(std::int64_t{1}, kMostSamples);
  add_shape_option(line, request.model.shapes);
  add_seed_option(line, request.model.seed);
  add_common_options(line, options);
  set_examples(line,
               "  $ train-graph mlp --loss cross_entropy --optimizer sgd -o train.onnx\n"
               "  $ train-graph model.onnx --batch 32 --optimizer adamw --weight-decay 0.1 -o "
               "train.onnx\n"
               "  $ train-graph resnet50 --batch 8 --freeze 'layer1*' -o train.onnx");
}

core::Result<jobs::TrainRequest> train_request(const TrainGraphOptions& options) {
  jobs::TrainRequest request = options.request;
  for (const std::string& text : options.settings) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto assigned, parse_assignment(text));
    if (!request.model.set.insert(assigned).second)
      return jobs::usage_error(fmt::format("`set`: '{}' is there twice", assigned.first),
                               "give each key once");
  }
  const auto set = [&](const char* name, const std::optional<double>& value) {
    if (value) request.settings[name] = *value;
  };
  set("momentum", options.momentum);
  set("beta1", options.beta1);
  set("beta2", options.beta2);
  set("epsilon", options.epsilon);
  set("weight_decay", options.weight_decay);
  if (options.nesterov) request.settings["nesterov"] = 1;
  return request;
}

}  // namespace soapstone::cli
