// VGG: 3×3 convolutions between halvings of the image, and three linear layers. Simonyan and
// Zisserman, 2014, table 1, columns A, B, D and E.
#include <algorithm>
#include <array>
#include <optional>

#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

const std::vector<ModelParameter>& vgg_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"layers", 16, "layers with weights: 11, 13, 16 or 19", 11, 19},
      {"image", 224, "height and width of an image; a multiple of 32"},
      {"classes", 1000, "size of the result"},
      {"width", 64, "channels of the first convolution", 1, 4096},
      {"hidden", 4096, "results of the linear layers but the last"}};
  return kParameters;
}

constexpr std::int64_t kVggStages = 5;
constexpr std::int64_t kWidest = 8;  ///< Channels of a stage, in those of the first, at most.
using Convolutions = std::array<std::int64_t, kVggStages>;

/// How many convolutions each stage has; none if there is no VGG of so many layers.
std::optional<Convolutions> convolutions(std::int64_t layers) {
  switch (layers) {
  case 11:
    return Convolutions{1, 1, 2, 2, 2};
  case 13:
    return Convolutions{2, 2, 2, 2, 2};
  case 16:
    return Convolutions{2, 2, 3, 3, 3};
  case 19:
    return Convolutions{2, 2, 4, 4, 4};
  default:
    return std::nullopt;
  }
}

core::Result<BuiltNetwork> build_vgg(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(vgg_parameters(), given));
  const auto counts = convolutions(p["layers"]);
  if (!counts) return core::invalid_input("the parameter layers is not 11, 13, 16 or 19");
  if (p["image"] % (1 << kVggStages) != 0)
    return core::invalid_input("the parameter image is not a multiple of 32");
  Network net("vgg", options);
  Tensor x = net.input("image", {p["batch"], 3, p["image"], p["image"]});
  for (std::int64_t stage = 0; stage < kVggStages; ++stage) {
    const std::string number = std::to_string(stage + 1);
    const std::int64_t channels = p["width"] * std::min(std::int64_t{1} << stage, kWidest);
    for (std::int64_t i = 0; i < (*counts)[static_cast<std::size_t>(stage)]; ++i) {
      const std::string name = "conv" + number + "_" + std::to_string(i + 1);
      x = net.relu(name + "/relu",
                   net.conv(name, x, channels, 3, 3, {.pad_height = 1, .pad_width = 1}));
    }
    x = net.max_pool("pool" + number, x, 2, 2);
  }
  x = net.perceptron("fc", net.flatten(x), {p["hidden"], p["hidden"]});
  return net.finish({{net.linear("last", x, p["classes"]), "scores"}});
}

}  // namespace

ModelBuilder vgg_builder() {
  return {"vgg", "VGG-16, 138.4 million parameters; VGG-11, VGG-13 and VGG-19 by layers",
          "Simonyan, Zisserman, Very Deep Convolutional Networks for Large-Scale Image "
          "Recognition, 2014; table 1",
          vgg_parameters(), build_vgg};
}

}  // namespace soapstone::models
