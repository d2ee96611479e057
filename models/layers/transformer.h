// Transformer blocks: attention, what is done to positions, feed-forwards. Private to the builders.
#pragma once

#include <functional>

#include "models/layers/network.h"

namespace soapstone::models {

/// Rotary position embedding: the cosines and sines of all angles, [positions, head size].
struct Rotation {
  Network::Tensor cosines, sines;
};

struct AttentionOptions {
  std::int64_t heads = 1;
  std::int64_t key_value_heads = 1;  ///< A divisor of heads, as many of which share one.
  bool bias = true;
  /// Added to the scores, [positions, positions]; none: every position sees all.
  Network::Tensor mask = {};
  std::optional<Rotation> rotation = {};
};

/// Self-attention of x[batch, positions, hidden] with four projections of that width. Source:
/// Vaswani et al., Attention Is All You Need, 2017, section 3.2; with fewer heads of keys than of
/// queries, Ainslie et al., GQA, 2023.
Network::Tensor attention(Network& net, const std::string& name, Network::Tensor x,
                          const AttentionOptions& options);

/// [seq, seq]: 0 where a query (row) may see a key (column), as it stands no later; else so low
/// that nothing is left of it. Computed from positions, so that it takes no memory before it runs.
Network::Tensor causal_mask(Network& net, const std::string& name, std::int64_t seq);

/// Source: Su et al., RoFormer, 2021, section 3.4.2: angle p · theta^(−2i/head) at position p.
Rotation rotary_tables(Network& net, const std::string& name, std::int64_t seq, std::int64_t head,
                       std::int64_t theta);

/// The feed-forward of layer number `layer`, of its normalized input [batch, seq, hidden].
using FeedForward =
    std::function<Network::Tensor(const std::string& name, Network::Tensor x, std::int64_t layer)>;

/// gelu by the error function, or fitted by tanh.
enum class Gelu : std::uint8_t { kExact, kTanh };

/// A linear layer, gelu, a linear layer back.
Network::Tensor gelu_feed_forward(Network& net, const std::string& name, Network::Tensor x,
                                  std::int64_t feed, Gelu gelu);

/// SwiGLU without biases: x·sigmoid(x) of one projection times another one, and a projection back.
/// Source: Shazeer, GLU Variants Improve Transformer, 2020, section 2.
Network::Tensor swiglu_feed_forward(Network& net, const std::string& name, Network::Tensor x,
                                    std::int64_t feed);

/// Attention and a feed-forward, with layer norm before each and a sum around both. Source: Radford
/// et al., Language Models are Unsupervised Multitask Learners, 2019, section 2.3.
Network::Tensor pre_norm_block(Network& net, const std::string& name, Network::Tensor x,
                               const AttentionOptions& options, double epsilon,
                               const std::function<Network::Tensor(Network::Tensor)>& feed_forward);

}  // namespace soapstone::models
