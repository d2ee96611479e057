// GPT: Transformer decoders that see no later token. Radford et al., 2019, section 2.3 (GPT-2);
// Brown et al., 2020, table 2.1 (GPT-3, which differs in sizes and in the sparsity of some layers
// that is left out here). gelu is its fit by tanh, as in the release of GPT-2.
#include "models/layers/decoders.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

constexpr std::int64_t kGptWidening = 4;

const std::vector<ModelParameter>& gpt_parameters() {
  static const std::vector<ModelParameter> kParameters = [] {
    auto all = decoder_parameters({.layers = 12, .hidden = 768, .heads = 12, .vocabulary = 50257});
    all.push_back({"feed", 0, "numbers inside a feed-forward; 0: four times hidden", 0});
    return all;
  }();
  return kParameters;
}

core::Result<BuiltNetwork> build_gpt(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(gpt_parameters(), given));
  Network net("gpt", options);
  const std::int64_t feed = p["feed"] != 0 ? p["feed"] : kGptWidening * p["hidden"];
  return build_decoders(net, p,
                        [&](const std::string& name, Network::Tensor x, std::int64_t /*layer*/) {
                          return gelu_feed_forward(net, name, x, feed, Gelu::kTanh);
                        });
}

}  // namespace

ModelBuilder gpt_builder() {
  return {"gpt", "GPT-2 small, 124.4 million parameters; GPT-3 by parameters",
          "Radford, Wu, Child, Luan, Amodei, Sutskever, Language Models are Unsupervised Multitask "
          "Learners, 2019; section 2.3",
          gpt_parameters(), build_gpt};
}

}  // namespace soapstone::models
