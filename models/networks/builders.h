// Networks built from their papers, with seeded random weights and parametric sizes, so that
// everything can be tried without downloading anything.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

struct ModelBuilder {
  std::string name;         ///< The name in `build-model resnet50`.
  std::string description;  ///< One line.
  std::string source;       ///< Authors, title, year; section or table that gives the layers.
  std::vector<ModelParameter> parameters;
  /// Errors: kInvalidInput if the parameters make no network.
  core::Result<core::Graph> (*build)(const std::map<std::string, std::int64_t>& parameters,
                                     std::uint64_t seed);
};

/// squeezenet, inception_v3, resnet50, resnext50, bert_base, nasrnn, swin.
std::span<const ModelBuilder> builders();

/// Errors: kInvalidInput for an unknown model (the message lists all) or parameter.
core::Result<core::Graph> build_model(std::string_view name,
                                      const std::map<std::string, std::int64_t>& parameters = {},
                                      std::uint64_t seed = 0);

}  // namespace soapstone::models
