// Llama apart from its feed-forward: networks that differ in that alone share it.
// Private to the builders.
#pragma once

#include "models/layers/transformer.h"

namespace soapstone::models {

struct RotaryDecoderSizes {
  std::int64_t layers, hidden, heads, key_value_heads, feed, vocabulary, theta;
};
/// batch, seq, layers, hidden, heads, kv_heads, feed, vocabulary, theta: with these defaults.
std::vector<ModelParameter> rotary_decoder_parameters(const RotaryDecoderSizes& defaults);

/// Embedded tokens through decoders with RMS norm and rotary positions to scores of the next token,
/// [batch, seq, vocabulary]. Errors: kInvalidInput if the parameters do not fit each other.
core::Result<BuiltNetwork> build_rotary_decoders(Network& net, const BuildParameters& p,
                                                 const FeedForward& feed_forward);

}  // namespace soapstone::models
