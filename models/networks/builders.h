// Networks built from their papers, with seeded random weights and parametric sizes, so that
// everything can be tried without downloading anything.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/layers/model_builder.h"

namespace soapstone::models {

/// All built-in networks, in the order of `build-model --list`.
std::span<const ModelBuilder> builders();

/// Errors: kInvalidInput for an unknown model (the message lists all) or parameter.
core::Result<BuiltNetwork> build_network(std::string_view name,
                                         const ParameterValues& parameters = {},
                                         const NetworkOptions& options = {});
/// The graph alone, with random weights.
core::Result<core::Graph> build_model(std::string_view name, const ParameterValues& parameters = {},
                                      std::uint64_t seed = 0);

}  // namespace soapstone::models
