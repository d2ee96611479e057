// Mixtures of experts. `moe` is GPT with experts in every second layer: Lepikhin et al., 2020
// (GShard), section 2.2; Du et al., 2021 (GLaM), section 3. `mixtral` is Llama with gated experts
// in every layer: Jiang et al., 2024, section 2. `deepseek_moe` has many small experts, some of
// which all tokens go through, and a first layer without: Dai et al., 2024, sections 3 and 4.1.3.
// The experts have places for so many tokens of a sequence (see experts.h), which the latter two do
// not limit; capacity_percent=100·experts/top is a place for every token.
#include "models/layers/decoders.h"
#include "models/layers/experts.h"
#include "models/layers/rotary_decoders.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;
using Parameters = std::vector<ModelParameter>;

Parameters joined(Parameters all, const Parameters& others) {
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

const Parameters& moe_parameters() {
  static const Parameters kParameters = [] {
    auto all = decoder_parameters({.layers = 4, .hidden = 512, .heads = 8, .vocabulary = 32000});
    all.push_back({"feed", 2048, "numbers inside a feed-forward"});
    all.push_back({"every", 2, "one layer of so many has experts, the last of them", 1, 1000});
    return joined(std::move(all), expert_parameters(8, 2));
  }();
  return kParameters;
}

const Parameters& mixtral_parameters() {
  static const Parameters kParameters = joined(rotary_decoder_parameters({.layers = 4,
                                                                          .hidden = 512,
                                                                          .heads = 8,
                                                                          .key_value_heads = 2,
                                                                          .feed = 1792,
                                                                          .vocabulary = 32000,
                                                                          .theta = 1000000}),
                                               expert_parameters(8, 2));
  return kParameters;
}

const Parameters& deepseek_parameters() {
  static const Parameters kParameters = [] {
    auto all = joined(rotary_decoder_parameters({.layers = 4,
                                                 .hidden = 512,
                                                 .heads = 8,
                                                 .key_value_heads = 8,
                                                 .feed = 352,
                                                 .vocabulary = 32000,
                                                 .theta = 10000}),
                      expert_parameters(16, 4));
    all.push_back({"shared", 2, "experts of all tokens, besides the others", 0, 4096});
    all.push_back({"dense", 1, "first layers that have one feed-forward instead", 0, 1000});
    all.push_back({"dense_feed", 2736, "numbers inside the feed-forward of such a layer"});
    return all;
  }();
  return kParameters;
}

core::Result<BuiltNetwork> build_moe(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(moe_parameters(), given));
  SOAPSTONE_ASSIGN_OR_RETURN(const ExpertOptions experts, expert_options(p));
  Network net("moe", options);
  return build_decoders(net, p, [&](const std::string& name, Tensor x, std::int64_t layer) {
    if ((layer + 1) % p["every"] != 0)
      return gelu_feed_forward(net, name, x, p["feed"], Gelu::kTanh);
    return expert_layer(net, name + "/experts", x, experts);
  });
}

core::Result<BuiltNetwork> build_mixtral(const ParameterValues& given,
                                         const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(mixtral_parameters(), given));
  SOAPSTONE_ASSIGN_OR_RETURN(ExpertOptions experts, expert_options(p));
  experts.gated = true;
  Network net("mixtral", options);
  return build_rotary_decoders(net, p,
                               [&](const std::string& name, Tensor x, std::int64_t /*layer*/) {
                                 return expert_layer(net, name + "/experts", x, experts);
                               });
}

core::Result<BuiltNetwork> build_deepseek(const ParameterValues& given,
                                          const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(deepseek_parameters(), given));
  SOAPSTONE_ASSIGN_OR_RETURN(ExpertOptions experts, expert_options(p));
  experts.gated = true;
  experts.normalized = false;
  Network net("deepseek_moe", options);
  return build_rotary_decoders(net, p, [&](const std::string& name, Tensor x, std::int64_t layer) {
    if (layer < p["dense"]) return swiglu_feed_forward(net, name + "/feed", x, p["dense_feed"]);
    const Tensor routed = expert_layer(net, name + "/experts", x, experts);
    if (p["shared"] == 0) return routed;
    // Experts of the same tokens are one that is wider.
    const Tensor shared = swiglu_feed_forward(net, name + "/shared", x, p["shared"] * p["feed"]);
    return net.add(name + "/add_shared", routed, shared);
  });
}

}  // namespace

ModelBuilder moe_builder() {
  return {"moe", "GPT with experts in every second layer, 58.9 million parameters",
          "Lepikhin et al., GShard: Scaling Giant Models with Conditional Computation and "
          "Automatic Sharding, 2020, section 2.2, algorithm 1; Du et al., GLaM, 2021, section 3",
          moe_parameters(), build_moe};
}

ModelBuilder mixtral_builder() {
  return {"mixtral", "A small Mixtral, 123.5 million parameters; Mixtral 8x7B by parameters",
          "Jiang et al., Mixtral of Experts, 2024; section 2, table 1", mixtral_parameters(),
          build_mixtral};
}

ModelBuilder deepseek_moe_builder() {
  return {"deepseek_moe",
          "A small DeepSeekMoE with shared experts, 70.4 million parameters; 16B by parameters",
          "Dai et al., DeepSeekMoE: Towards Ultimate Expert Specialization in Mixture-of-Experts "
          "Language Models, 2024; sections 3, 4.1.3",
          deepseek_parameters(), build_deepseek};
}

}  // namespace soapstone::models
