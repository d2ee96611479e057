// What a built-in network is given and makes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::models {

struct ModelParameter {
  std::string name;  ///< The name in `--set batch=4`.
  std::int64_t default_value;
  std::string description;
  std::int64_t lowest = 1;
  std::int64_t highest = 1 << 20;
};

/// Parameters that are not named have their default.
using ParameterValues = std::map<std::string, std::int64_t>;

enum class Weights : std::uint8_t {
  kRandom,  ///< Constants, made from the seed.
  kInputs,  ///< Graph inputs, which take no memory: for networks that are planned and not run.
};

struct NetworkOptions {
  std::uint64_t seed = 0;
  Weights weights = Weights::kRandom;
  core::DataType type = core::DataType::kFloat32;  ///< Of weights and activations; f16, bf16, f32.
};

struct BuiltNetwork {
  core::Graph graph;
  /// What training changes: constants or inputs of the graph, as the options say.
  std::vector<core::TensorId> weights;
  /// Batch norm's means and variances: given like weights, but no gradient changes them.
  std::vector<core::TensorId> statistics;
};

struct ModelBuilder {
  std::string name;         ///< The name in `build-model resnet50`.
  std::string description;  ///< One line.
  std::string source;       ///< Authors, title, year; section or table that gives the layers.
  std::vector<ModelParameter> parameters;
  /// Errors: kInvalidInput if the parameters make no network.
  core::Result<BuiltNetwork> (*build)(const ParameterValues& parameters,
                                      const NetworkOptions& options);
};

}  // namespace soapstone::models
