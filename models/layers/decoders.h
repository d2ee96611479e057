// What GPT is made of, apart from its feed-forward: networks that differ in that alone share it.
// Private to the builders.
#pragma once

#include "models/layers/transformer.h"

namespace soapstone::models {

/// batch, seq, positions, layers, hidden, heads, vocabulary, tied: with these defaults.
struct DecoderSizes {
  std::int64_t layers, hidden, heads, vocabulary;
};
std::vector<ModelParameter> decoder_parameters(const DecoderSizes& defaults);

/// Embedded tokens and positions through decoders to scores of the next token, [batch, seq,
/// vocabulary]. Errors: kInvalidInput if the parameters do not fit each other.
core::Result<BuiltNetwork> build_decoders(Network& net, const BuildParameters& p,
                                          const FeedForward& feed_forward);

}  // namespace soapstone::models
