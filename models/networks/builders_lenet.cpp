// LeNet-5: two convolutions, each with an average over squares of four, and three linear layers.
// LeCun et al., 1998, section II.B, as it is usually written: every map reads all maps before it,
// averages have no weights, and the last layer is linear.
#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

const std::vector<ModelParameter>& lenet_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 32, "height and width of an image"},
      {"classes", 10, "size of the result"}};
  return kParameters;
}

core::Result<BuiltNetwork> build_lenet(const ParameterValues& given,
                                       const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(lenet_parameters(), given));
  Network net("lenet", options);
  const auto tanh = [&](const std::string& name, Tensor x) {
    return net.append("tanh", {x}, {}, name + "/tanh");
  };
  Tensor x = net.input("image", {p["batch"], 1, p["image"], p["image"]});
  x = net.average_pool("pool2", tanh("conv1", net.conv("conv1", x, 6, 5, 5, {})), 2, 2, 0);
  x = net.average_pool("pool4", tanh("conv3", net.conv("conv3", x, 16, 5, 5, {})), 2, 2, 0);
  x = tanh("fc5", net.linear("fc5", net.flatten(x), 120));
  x = tanh("fc6", net.linear("fc6", x, 84));
  return net.finish({{net.linear("fc7", x, p["classes"]), "scores"}});
}

}  // namespace

ModelBuilder lenet_builder() {
  return {"lenet", "LeNet-5, 61,706 parameters",
          "LeCun, Bottou, Bengio, Haffner, Gradient-Based Learning Applied to Document "
          "Recognition, 1998; section II.B",
          lenet_parameters(), build_lenet};
}

}  // namespace soapstone::models
