// The table of built-in networks.
#include "models/networks/builders.h"

#include <fmt/format.h>

#include "models/networks/network_builders.h"

namespace soapstone::models {

std::span<const ModelBuilder> builders() {
  static const std::vector<ModelBuilder> kBuilders = {
      squeezenet_builder(),  inception_v3_builder(), resnet50_builder(), resnext50_builder(),
      bert_base_builder(),   nasrnn_builder(),       swin_builder(),     lenet_builder(),
      alexnet_builder(),     resnet101_builder(),    mlp_builder(),      gpt_builder(),
      llama_builder(),       moe_builder(),          rnntc_builder(),    rnnlm_builder(),
      nmt_builder(),         dlrm_builder(),         nasnet_a_builder(), vgg_builder(),
      resnet18_builder(),    resnet34_builder(),     vit_builder(),      unet_builder(),
      bert_builder(),        bert_large_builder(),   gnmt_builder(),     mixtral_builder(),
      deepseek_moe_builder()};
  return kBuilders;
}

core::Result<BuiltNetwork> build_network(std::string_view name, const ParameterValues& parameters,
                                         const NetworkOptions& options) {
  using enum core::DataType;
  if (options.type != kFloat32 && options.type != kFloat16 && options.type != kBFloat16) {
    return core::invalid_input(
        fmt::format("no network has weights of type {}", core::to_string(options.type)),
        "the types are f32, f16 and bf16");
  }
  std::string names;
  for (const ModelBuilder& builder : builders()) {
    if (builder.name != name) {
      names += (names.empty() ? "" : ", ") + builder.name;
      continue;
    }
    auto network = builder.build(parameters, options);
    if (!network) return network.error().at(builder.name);
    return network;
  }
  return core::invalid_input(fmt::format("there is no model '{}'", name),
                             fmt::format("the models are {}", names));
}

core::Result<core::Graph> build_model(std::string_view name, const ParameterValues& parameters,
                                      std::uint64_t seed) {
  SOAPSTONE_ASSIGN_OR_RETURN(BuiltNetwork network, build_network(name, parameters, {.seed = seed}));
  return std::move(network.graph);
}

}  // namespace soapstone::models
