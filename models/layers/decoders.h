// What GPT is made of, apart from its feed-forward: networks that differ in that alone share it.
// Private to the builders.
#pragma once

#include <functional>

#include "models/layers/network.h"

namespace soapstone::models {

/// batch, seq, positions, layers, hidden, heads, vocabulary, tied: with these defaults.
struct DecoderSizes {
  std::int64_t layers, hidden, heads, vocabulary;
};
std::vector<ModelParameter> decoder_parameters(const DecoderSizes& defaults);

/// The feed-forward of layer number `layer`, of its normalized input [batch, seq, hidden].
using FeedForward =
    std::function<Network::Tensor(const std::string& name, Network::Tensor x, std::int64_t layer)>;

/// A linear layer, gelu, a linear layer back.
Network::Tensor gelu_feed_forward(Network& net, const std::string& name, Network::Tensor x,
                                  std::int64_t feed);

/// Embedded tokens and positions through decoders to scores of the next token, [batch, seq,
/// vocabulary]. Errors: kInvalidInput if the parameters do not fit each other.
core::Result<BuiltNetwork> build_decoders(Network& net, const BuildParameters& p,
                                          const FeedForward& feed_forward);

}  // namespace soapstone::models
