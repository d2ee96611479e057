// See rotary_decoders.h. Touvron et al., LLaMA, 2023, section 2.2.
#include "models/layers/rotary_decoders.h"

namespace soapstone::models {

using Tensor = Network::Tensor;

namespace {

constexpr double kRmsEpsilon = 1e-5;

core::Status check_rotary(const BuildParameters& p) {
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("heads", "kv_heads"));
  if (p["hidden"] / p["heads"] % 2 == 0) return core::Done{};
  return core::invalid_input("the parameter hidden is not an even multiple of heads");
}

}  // namespace

std::vector<ModelParameter> rotary_decoder_parameters(const RotaryDecoderSizes& defaults) {
  return {{"batch", 1, "sequences at once"},
          {"seq", 128, "tokens of a sequence"},
          {"layers", defaults.layers, "decoders", 1, 1000},
          {"hidden", defaults.hidden, "numbers for a token; an even multiple of heads"},
          {"heads", defaults.heads, "attention heads; a multiple of kv_heads"},
          {"kv_heads", defaults.key_value_heads, "heads of keys and values"},
          {"feed", defaults.feed, "numbers inside a feed-forward"},
          {"vocabulary", defaults.vocabulary, "distinct tokens"},
          {"theta", defaults.theta, "base of the angles of rotary positions", 1,
           std::int64_t{1} << 40}};
}

core::Result<BuiltNetwork> build_rotary_decoders(Network& net, const BuildParameters& p,
                                                 const FeedForward& feed_forward) {
  SOAPSTONE_RETURN_IF_ERROR(check_rotary(p));
  const std::int64_t seq = p["seq"], hidden = p["hidden"];
  const Tensor ids = net.input("token_ids", {p["batch"], seq}, core::DataType::kInt64);
  Tensor x = net.look_up("embed/token", net.table("embed/token", p["vocabulary"], hidden), ids);
  const AttentionOptions options = {
      .heads = p["heads"],
      .key_value_heads = p["kv_heads"],
      .bias = false,
      .mask = causal_mask(net, "mask", seq),
      .rotation = rotary_tables(net, "rotary", seq, hidden / p["heads"], p["theta"])};
  for (std::int64_t i = 0; i < p["layers"]; ++i) {
    const std::string name = "layer" + std::to_string(i);
    Tensor y = net.rms_norm(name + "/norm1", x, kRmsEpsilon);
    x = net.add(name + "/add1", x, attention(net, name + "/attention", y, options));
    y = net.rms_norm(name + "/norm2", x, kRmsEpsilon);
    x = net.add(name + "/add2", x, feed_forward(name, y, i));
  }
  x = net.rms_norm("norm", x, kRmsEpsilon);
  return net.finish({{net.linear("head", x, p["vocabulary"], false), "scores"}});
}

}  // namespace soapstone::models
