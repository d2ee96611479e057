// Inception-v3 without its auxiliary classifier. Szegedy et al., 2015, table 1 and figures 5 to 7
// with the factorized stem; sizes of the branches as in the authors' release.
#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kInceptionEpsilon = 1e-3;

const std::vector<ModelParameter>& inception_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 299, "height and width of an image"},
      {"classes", 1000, "size of the result"},
      {"width_percent", 100, "channels of every layer, relative to the paper", 1, 1000},
      {"fold_bn", 0, "1: batch norm is folded into the convolutions", 0, 1}};
  return kParameters;
}

class Inception {
 public:
  Inception(const BuildParameters& p, const NetworkOptions& options)
      : p_(p), net_("inception_v3", options) {}

  core::Result<BuiltNetwork> build() {
    Tensor x = stem(net_.input("image", {p_["batch"], 3, p_["image"], p_["image"]}));
    x = grid35("mixed_a1", x, 32);
    x = grid35("mixed_a2", x, 64);
    x = grid35("mixed_a3", x, 64);
    x = reduce35("reduce_a", x);
    x = grid17("mixed_b1", x, 128);
    x = grid17("mixed_b2", x, 160);
    x = grid17("mixed_b3", x, 160);
    x = grid17("mixed_b4", x, 192);
    x = reduce17("reduce_b", x);
    x = grid8("mixed_c1", x);
    x = grid8("mixed_c2", x);
    return net_.finish({{net_.linear("fc", net_.global_average(x), p_["classes"]), "scores"}});
  }

 private:
  /// Convolution, batch norm, relu.
  Tensor conv(const std::string& name, Tensor x, std::int64_t channels, std::int64_t height,
              std::int64_t width, const ConvOptions& options) {
    channels = std::max<std::int64_t>(1, channels * p_["width_percent"] / 100);
    return net_.relu(name + "/relu", net_.conv_batch_norm(name, x, channels, height, width, options,
                                                          kInceptionEpsilon, p_["fold_bn"] != 0));
  }
  /// Keeps the size of the image.
  Tensor same(const std::string& name, Tensor x, std::int64_t channels, std::int64_t height,
              std::int64_t width) {
    return conv(name, x, channels, height, width,
                {.pad_height = height / 2, .pad_width = width / 2});
  }
  Tensor pooled(const std::string& name, Tensor x, std::int64_t channels) {
    return same(name, net_.average_pool(name + "/average", x, 3, 1, 1), channels, 1, 1);
  }

  Tensor stem(Tensor x) {
    x = conv("conv1", x, 32, 3, 3, {.stride = 2});
    x = conv("conv2", x, 32, 3, 3, {});
    x = same("conv3", x, 64, 3, 3);
    x = net_.max_pool("pool1", x, 3, 2);
    x = conv("conv4", x, 80, 1, 1, {});
    x = conv("conv5", x, 192, 3, 3, {});
    return net_.max_pool("pool2", x, 3, 2);
  }

  Tensor grid35(const std::string& name, Tensor x, std::int64_t pool_channels) {
    const Tensor one = same(name + "/1x1", x, 64, 1, 1);
    Tensor five = same(name + "/5x5_1", x, 48, 1, 1);
    five = same(name + "/5x5_2", five, 64, 5, 5);
    Tensor twice = same(name + "/3x3_1", x, 64, 1, 1);
    twice = same(name + "/3x3_2", twice, 96, 3, 3);
    twice = same(name + "/3x3_3", twice, 96, 3, 3);
    return net_.concat(name, {one, five, twice, pooled(name + "/pool", x, pool_channels)}, 1);
  }

  Tensor reduce35(const std::string& name, Tensor x) {
    const Tensor three = conv(name + "/3x3", x, 384, 3, 3, {.stride = 2});
    Tensor twice = same(name + "/twice_1", x, 64, 1, 1);
    twice = same(name + "/twice_2", twice, 96, 3, 3);
    twice = conv(name + "/twice_3", twice, 96, 3, 3, {.stride = 2});
    return net_.concat(name, {three, twice, net_.max_pool(name + "/pool", x, 3, 2)}, 1);
  }

  Tensor grid17(const std::string& name, Tensor x, std::int64_t inner) {
    const Tensor one = same(name + "/1x1", x, 192, 1, 1);
    Tensor once = same(name + "/7x7_1", x, inner, 1, 1);
    once = same(name + "/7x7_2", once, inner, 1, 7);
    once = same(name + "/7x7_3", once, 192, 7, 1);
    Tensor twice = same(name + "/twice_1", x, inner, 1, 1);
    twice = same(name + "/twice_2", twice, inner, 7, 1);
    twice = same(name + "/twice_3", twice, inner, 1, 7);
    twice = same(name + "/twice_4", twice, inner, 7, 1);
    twice = same(name + "/twice_5", twice, 192, 1, 7);
    return net_.concat(name, {one, once, twice, pooled(name + "/pool", x, 192)}, 1);
  }

  Tensor reduce17(const std::string& name, Tensor x) {
    Tensor three = same(name + "/3x3_1", x, 192, 1, 1);
    three = conv(name + "/3x3_2", three, 320, 3, 3, {.stride = 2});
    Tensor seven = same(name + "/7x7_1", x, 192, 1, 1);
    seven = same(name + "/7x7_2", seven, 192, 1, 7);
    seven = same(name + "/7x7_3", seven, 192, 7, 1);
    seven = conv(name + "/7x7_4", seven, 192, 3, 3, {.stride = 2});
    return net_.concat(name, {three, seven, net_.max_pool(name + "/pool", x, 3, 2)}, 1);
  }

  Tensor grid8(const std::string& name, Tensor x) {
    const Tensor one = same(name + "/1x1", x, 320, 1, 1);
    const Tensor three = same(name + "/3x3_1", x, 384, 1, 1);
    const Tensor wide = same(name + "/3x3_2a", three, 384, 1, 3);
    const Tensor high = same(name + "/3x3_2b", three, 384, 3, 1);
    Tensor twice = same(name + "/twice_1", x, 448, 1, 1);
    twice = same(name + "/twice_2", twice, 384, 3, 3);
    const Tensor twice_wide = same(name + "/twice_3a", twice, 384, 1, 3);
    const Tensor twice_high = same(name + "/twice_3b", twice, 384, 3, 1);
    return net_.concat(name,
                       {one, net_.concat(name + "/3x3", {wide, high}, 1),
                        net_.concat(name + "/twice", {twice_wide, twice_high}, 1),
                        pooled(name + "/pool", x, 192)},
                       1);
  }

  const BuildParameters& p_;
  Network net_;
};

core::Result<BuiltNetwork> build_inception(const ParameterValues& given,
                                           const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(inception_parameters(), given));
  return Inception(p, options).build();
}

}  // namespace

ModelBuilder inception_v3_builder() {
  return {"inception_v3", "Inception-v3 without auxiliary classifier, 23.8 million parameters",
          "Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, Rethinking the Inception Architecture for "
          "Computer Vision, 2015; table 1, figures 5 to 7",
          inception_parameters(), build_inception};
}

}  // namespace soapstone::models
