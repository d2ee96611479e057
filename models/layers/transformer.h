// Attention and what is done to positions, for the networks made of transformer blocks. Private to
// the builders.
#pragma once

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

}  // namespace soapstone::models
