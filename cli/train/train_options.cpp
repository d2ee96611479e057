// See train_options.h.
#include "cli/train/train_options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

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
  line.add("--betas", options.betas,
           "Shares of the first and of the second moment that adam and adamw keep [0.9,0.999]")
      .type("SHARE,SHARE");
  line.add("--epsilon", options.epsilon, "What they add to the root of the second moment [1e-8]")
      .type("E")
      .not_negative();
  line.add("--weight-decay", options.weight_decay,
           "Share of a weight that is added to its gradient [0]; of adamw the share by which a "
           "weight shrinks, times the learning rate [0.01]")
      .type("SHARE")
      .not_negative();
}

/// A number from 0 to less than 1 that `text` begins with, and what follows it.
std::optional<std::pair<double, std::string_view>> parse_share(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || !(share >= 0 && share < 1)) return std::nullopt;
  return std::pair(share, text.substr(static_cast<std::size_t>(end - text.data())));
}

core::Result<std::pair<double, double>> parse_betas(const std::string& text) {
  if (const auto first = parse_share(text); first && first->second.starts_with(','))
    if (const auto second = parse_share(first->second.substr(1)); second && second->second.empty())
      return std::pair(first->first, second->first);
  return jobs::usage_error(
      fmt::format("`betas`: '{}' is not two shares from 0 to less than 1", text),
      "give two numbers, as in 0.9,0.999");
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
  line.add("--weight", request.weights,
           "Train an input or a constant besides the initializers: its name, or a pattern with *")
      .type("NAME")
      .one_each();
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
  set("epsilon", options.epsilon);
  set("weight_decay", options.weight_decay);
  if (!options.betas.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto betas, parse_betas(options.betas));
    set("beta1", betas.first);
    set("beta2", betas.second);
  }
  if (options.nesterov) request.settings["nesterov"] = 1;
  return request;
}

}  // namespace soapstone::cli
