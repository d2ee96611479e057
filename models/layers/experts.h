// A layer of experts: several feed-forwards, of which each token goes through those that a gate
// prefers. Private to the builders.
#pragma once

#include "models/layers/transformer.h"

namespace soapstone::models {

struct ExpertOptions {
  std::int64_t experts = 1;
  std::int64_t top = 1;   ///< Experts of a token; at most `experts`.
  std::int64_t feed = 1;  ///< Numbers inside an expert.
  /// Places of all experts for a sequence, relative to `top` times its tokens. A token that finds
  /// no place adds nothing.
  std::int64_t capacity_percent = 100;
  bool gated = false;      ///< SwiGLU instead of a relu.
  bool normalized = true;  ///< The shares of a token's experts are scaled to the sum 1.
};

/// Sends the tokens of x[batch, seq, hidden] to experts. Tokens of a sequence are a group, in which
/// they take places in their order. Source: Lepikhin et al., GShard, 2020, section 2.2 and
/// algorithm 1, without its random choice and its loss for balance.
Network::Tensor expert_layer(Network& net, const std::string& name, Network::Tensor x,
                             const ExpertOptions& options);

/// experts, top, capacity_percent: with these defaults.
std::vector<ModelParameter> expert_parameters(std::int64_t experts, std::int64_t top);
/// Errors: kInvalidInput if a token has more experts than there are.
core::Result<ExpertOptions> expert_options(const BuildParameters& p);

}  // namespace soapstone::models
