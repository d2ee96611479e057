// See decoders.h.
#include "models/layers/decoders.h"

namespace soapstone::models {

using Tensor = Network::Tensor;

namespace {

constexpr double kDecoderEpsilon = 1e-5;

core::Status check(const BuildParameters& p) {
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  if (p["seq"] <= p["positions"]) return core::Done{};
  return core::invalid_input("the parameter seq is larger than positions");
}

}  // namespace

std::vector<ModelParameter> decoder_parameters(const DecoderSizes& defaults) {
  return {{"batch", 1, "sequences at once"},
          {"seq", 128, "tokens of a sequence; not more than positions"},
          {"positions", 1024, "rows of the table of positions"},
          {"layers", defaults.layers, "decoders", 1, 1000},
          {"hidden", defaults.hidden, "numbers for a token; a multiple of heads"},
          {"heads", defaults.heads, "attention heads"},
          {"vocabulary", defaults.vocabulary, "distinct tokens"},
          {"tied", 1, "1: the last layer's weight is the table of tokens", 0, 1}};
}

core::Result<BuiltNetwork> build_decoders(Network& net, const BuildParameters& p,
                                          const FeedForward& feed_forward) {
  SOAPSTONE_RETURN_IF_ERROR(check(p));
  const std::int64_t seq = p["seq"], hidden = p["hidden"];
  const Tensor ids = net.input("token_ids", {p["batch"], seq}, core::DataType::kInt64);
  const Tensor tokens = net.table("embed/token", p["vocabulary"], hidden);
  const Tensor positions = net.table("embed/position", p["positions"], hidden);
  Tensor x = net.add("embed/add", net.look_up("embed/token", tokens, ids),
                     net.slice("embed/position", positions, 0, 0, seq));
  const AttentionOptions causal{
      .heads = p["heads"], .key_value_heads = p["heads"], .mask = causal_mask(net, "mask", seq)};
  for (std::int64_t i = 0; i < p["layers"]; ++i) {
    const std::string name = "layer" + std::to_string(i);
    x = pre_norm_block(net, name, x, causal, kDecoderEpsilon,
                       [&](Tensor y) { return feed_forward(name, y, i); });
  }
  x = net.layer_norm("norm", x, kDecoderEpsilon);
  const Tensor scores = p["tied"] != 0
                            ? net.matmul("head", x, net.transpose("head/transpose", tokens, {1, 0}))
                            : net.linear("head", x, p["vocabulary"], false);
  return net.finish({{scores, "scores"}});
}

}  // namespace soapstone::models
