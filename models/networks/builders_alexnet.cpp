// AlexNet without local response normalization and without groups: the variant of Krizhevsky,
// 2014, section 5, that is the usual one today.
#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

const std::vector<ModelParameter>& alexnet_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 224, "height and width of an image"},
      {"classes", 1000, "size of the result"},
      {"width", 64, "channels of the first convolution", 1, 4096},
      {"hidden", 4096, "results of the linear layers but the last"}};
  return kParameters;
}

core::Result<BuiltNetwork> build_alexnet(const ParameterValues& given,
                                         const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(alexnet_parameters(), given));
  Network net("alexnet", options);
  const std::int64_t width = p["width"];
  const auto conv = [&](const std::string& name, Tensor x, std::int64_t channels,
                        std::int64_t kernel, std::int64_t pad, std::int64_t stride) {
    const ConvOptions same{.stride = stride, .pad_height = pad, .pad_width = pad};
    return net.relu(name + "/relu", net.conv(name, x, channels, kernel, kernel, same));
  };
  Tensor x = net.input("image", {p["batch"], 3, p["image"], p["image"]});
  x = net.max_pool("pool1", conv("conv1", x, width, 11, 2, 4), 3, 2);
  x = net.max_pool("pool2", conv("conv2", x, 3 * width, 5, 2, 1), 3, 2);
  x = conv("conv3", x, 6 * width, 3, 1, 1);
  x = conv("conv4", x, 4 * width, 3, 1, 1);
  x = net.max_pool("pool5", conv("conv5", x, 4 * width, 3, 1, 1), 3, 2);
  x = net.perceptron("fc", net.flatten(x), {p["hidden"], p["hidden"]});
  return net.finish({{net.linear("last", x, p["classes"]), "scores"}});
}

}  // namespace

ModelBuilder alexnet_builder() {
  return {"alexnet", "AlexNet on one column, 61.1 million parameters",
          "Krizhevsky, One Weird Trick for Parallelizing Convolutional Neural Networks, 2014; "
          "section 5",
          alexnet_parameters(), build_alexnet};
}

}  // namespace soapstone::models
