// The options of train-graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/train/train.h"

namespace soapstone::cli {

struct TrainGraphOptions : CommonOptions {
  jobs::TrainRequest request;
  std::vector<std::string> settings;  ///< `KEY=NUMBER`
  std::optional<double> momentum, epsilon, weight_decay;
  std::string betas;
  bool nesterov = false;
};

/// Binds all options to `options`, which must outlive `line`.
void add_train_options(CommandLine& line, TrainGraphOptions& options);
/// The request with what its options mean together. Errors: kUsage.
core::Result<jobs::TrainRequest> train_request(const TrainGraphOptions& options);

}  // namespace soapstone::cli
