// SqueezeNet 1.0: fire modules that squeeze by 1×1 convolutions and expand by 1×1 and 3×3 ones
// side by side. Iandola et al., 2016, table 1.
#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

const std::vector<ModelParameter>& squeezenet_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 224, "height and width of an image"},
      {"classes", 1000, "size of the result"},
      {"width_percent", 100, "channels of every layer, relative to the paper", 1, 1000}};
  return kParameters;
}

std::int64_t scaled(std::int64_t channels, std::int64_t percent) {
  return std::max<std::int64_t>(1, channels * percent / 100);
}

Tensor fire(Network& net, const std::string& name, Tensor x, std::int64_t squeeze,
            std::int64_t expand) {
  const Tensor s =
      net.relu(name + "/squeeze/relu", net.conv(name + "/squeeze", x, squeeze, 1, 1, {}));
  const Tensor one =
      net.relu(name + "/expand1x1/relu", net.conv(name + "/expand1x1", s, expand, 1, 1, {}));
  const Tensor three =
      net.relu(name + "/expand3x3/relu",
               net.conv(name + "/expand3x3", s, expand, 3, 3, {.pad_height = 1, .pad_width = 1}));
  return net.concat(name + "/concat", {one, three}, 1);
}

core::Result<BuiltNetwork> build_squeezenet(const ParameterValues& given,
                                            const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(squeezenet_parameters(), given));
  const auto width = [&](std::int64_t channels) { return scaled(channels, p["width_percent"]); };
  Network net("squeezenet", options);
  Tensor x = net.input("image", {p["batch"], 3, p["image"], p["image"]});
  x = net.relu("conv1/relu", net.conv("conv1", x, width(96), 7, 7, {.stride = 2}));
  x = net.max_pool("pool1", x, 3, 2, 0, true);
  x = fire(net, "fire2", x, width(16), width(64));
  x = fire(net, "fire3", x, width(16), width(64));
  x = fire(net, "fire4", x, width(32), width(128));
  x = net.max_pool("pool4", x, 3, 2, 0, true);
  x = fire(net, "fire5", x, width(32), width(128));
  x = fire(net, "fire6", x, width(48), width(192));
  x = fire(net, "fire7", x, width(48), width(192));
  x = fire(net, "fire8", x, width(64), width(256));
  x = net.max_pool("pool8", x, 3, 2, 0, true);
  x = fire(net, "fire9", x, width(64), width(256));
  x = net.relu("conv10/relu", net.conv("conv10", x, p["classes"], 1, 1, {}));
  return net.finish({{net.global_average(x), "scores"}});
}

}  // namespace

ModelBuilder squeezenet_builder() {
  return {"squeezenet", "SqueezeNet 1.0, 1.25 million parameters",
          "Iandola et al., SqueezeNet: AlexNet-level accuracy with 50x fewer parameters, 2016; "
          "table 1",
          squeezenet_parameters(), build_squeezenet};
}

}  // namespace soapstone::models
