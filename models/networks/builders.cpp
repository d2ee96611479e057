// The table of built-in networks.
#include "models/networks/builders.h"

#include <fmt/format.h>

#include "models/networks/network_builders.h"

namespace soapstone::models {

std::span<const ModelBuilder> builders() {
  static const std::vector<ModelBuilder> kBuilders = {
      squeezenet_builder(), inception_v3_builder(), resnet50_builder(), resnext50_builder(),
      bert_base_builder(),  nasrnn_builder(),       swin_builder()};
  return kBuilders;
}

core::Result<core::Graph> build_model(std::string_view name,
                                      const std::map<std::string, std::int64_t>& parameters,
                                      std::uint64_t seed) {
  std::string names;
  for (const ModelBuilder& builder : builders()) {
    if (builder.name != name) {
      names += (names.empty() ? "" : ", ") + builder.name;
      continue;
    }
    auto graph = builder.build(parameters, seed);
    if (!graph) return graph.error().at(builder.name);
    return graph;
  }
  return core::invalid_input(fmt::format("there is no model '{}'", name),
                             fmt::format("the models are {}", names));
}

}  // namespace soapstone::models
