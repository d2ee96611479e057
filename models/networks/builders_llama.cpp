// Llama: Transformer decoders with RMS norm, rotary positions, several query heads to a key head
// and a gated feed-forward. Touvron et al., 2023, section 2.2; the key heads and sizes are those of
// Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3.
#include "models/layers/rotary_decoders.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

const std::vector<ModelParameter>& llama_parameters() {
  static const std::vector<ModelParameter> kParameters =
      rotary_decoder_parameters({.layers = 4,
                                 .hidden = 512,
                                 .heads = 8,
                                 .key_value_heads = 2,
                                 .feed = 1536,
                                 .vocabulary = 32000,
                                 .theta = 500000});
  return kParameters;
}

core::Result<BuiltNetwork> build_llama(const ParameterValues& given,
                                       const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(llama_parameters(), given));
  Network net("llama", options);
  return build_rotary_decoders(
      net, p, [&](const std::string& name, Network::Tensor x, std::int64_t /*layer*/) {
        return swiglu_feed_forward(net, name + "/feed", x, p["feed"]);
      });
}

}  // namespace

ModelBuilder llama_builder() {
  return {"llama", "A small Llama, 44.8 million parameters; Llama 3 by parameters",
          "Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023, section "
          "2.2; Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3",
          llama_parameters(), build_llama};
}

}  // namespace soapstone::models
