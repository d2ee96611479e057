// Residual networks: four stages of blocks with a sum around each. He et al., 2015, table 1; Xie et
// al., 2017, table 1. The blocks of ResNet-18 and ResNet-34 are two 3×3 convolutions. Those of the
// others are bottlenecks, which differ in the 3×3 convolution (grouped and twice as wide in
// ResNeXt) and in where a stage halves the image (its first 1×1 convolution in ResNet, the 3×3 one
// in ResNeXt).
#include <array>

#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kResnetEpsilon = 1e-5;
constexpr std::int64_t kExpansion = 4;  // of a block's result over the stage's width
/// Trained batch norm keeps the sums around the blocks from growing; so do these scales.
constexpr double kResidualScale = 0.4, kShortcutScale = 0.7;

std::vector<ModelParameter> common_parameters() {
  return {{"batch", 1, "images at once"},
          {"image", 224, "height and width of an image"},
          {"classes", 1000, "size of the result"},
          {"width", 64, "channels inside the blocks of the first stage", 1, 4096},
          {"fold_bn", 0, "1: batch norm is folded into the convolutions", 0, 1}};
}

const std::vector<ModelParameter>& resnet_parameters() {
  static const std::vector<ModelParameter> kParameters = common_parameters();
  return kParameters;
}

const std::vector<ModelParameter>& resnext_parameters() {
  static const std::vector<ModelParameter> kParameters = [] {
    auto all = common_parameters();
    all.push_back({"groups", 32, "groups of a 3x3 convolution (cardinality)", 1, 4096});
    all.push_back({"group_width", 4, "channels of a group in the first stage", 1, 4096});
    return all;
  }();
  return kParameters;
}

enum class Block : std::uint8_t { kBasic, kBottleneck, kGroupedBottleneck };

struct ResidualVariant {
  const char* name;
  Block block;
  std::array<std::int64_t, 4> blocks;  ///< Of each stage.
};
constexpr ResidualVariant kResnet18 = {"resnet18", Block::kBasic, {2, 2, 2, 2}};
constexpr ResidualVariant kResnet34 = {"resnet34", Block::kBasic, {3, 4, 6, 3}};
constexpr ResidualVariant kResnet50 = {"resnet50", Block::kBottleneck, {3, 4, 6, 3}};
constexpr ResidualVariant kResnet101 = {"resnet101", Block::kBottleneck, {3, 4, 23, 3}};
constexpr ResidualVariant kResnext50 = {"resnext50", Block::kGroupedBottleneck, {3, 4, 6, 3}};

class ResidualNetwork {
 public:
  ResidualNetwork(const BuildParameters& p, const ResidualVariant& variant,
                  const NetworkOptions& options)
      : p_(p), variant_(variant), net_(variant.name, options) {}

  core::Result<BuiltNetwork> build() {
    Tensor x = net_.input("image", {p_["batch"], 3, p_["image"], p_["image"]});
    x = net_.relu("conv1/relu",
                  conv("conv1", x, p_["width"], 7, {.stride = 2, .pad_height = 3, .pad_width = 3}));
    x = net_.max_pool("pool1", x, 3, 2, 1);
    for (std::int64_t stage = 0; stage < std::ssize(variant_.blocks); ++stage) {
      for (std::int64_t i = 0; i < variant_.blocks[static_cast<std::size_t>(stage)]; ++i)
        x = block(x, stage, i);
    }
    return net_.finish({{net_.linear("fc", net_.global_average(x), p_["classes"]), "scores"}});
  }

 private:
  Tensor conv(const std::string& name, Tensor x, std::int64_t channels, std::int64_t kernel,
              const ConvOptions& options) {
    return net_.conv_batch_norm(name, x, channels, kernel, kernel, options, kResnetEpsilon,
                                p_["fold_bn"] != 0);
  }

  Tensor block(Tensor x, std::int64_t stage, std::int64_t i) {
    const std::string name = "conv" + std::to_string(stage + 2) + "_" + std::to_string(i + 1);
    const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
    const std::int64_t width = p_["width"] << stage;
    const bool is_basic = variant_.block == Block::kBasic;
    const Tensor y =
        is_basic ? two_convs(name, x, width, stride) : bottleneck(name, x, stage, stride);
    const std::int64_t channels = is_basic ? width : width * kExpansion;
    if (i == 0 && (stage > 0 || !is_basic))
      x = conv(name + "/shortcut", x, channels, 1, {.stride = stride, .scale = kShortcutScale});
    return net_.relu(name + "/relu", net_.add(name + "/add", y, x));
  }

  Tensor two_convs(const std::string& name, Tensor x, std::int64_t width, std::int64_t stride) {
    Tensor y = conv(name + "/a", x, width, 3, {.stride = stride, .pad_height = 1, .pad_width = 1});
    y = net_.relu(name + "/a/relu", y);
    return conv(name + "/b", y, width, 3,
                {.pad_height = 1, .pad_width = 1, .scale = kResidualScale});
  }

  Tensor bottleneck(const std::string& name, Tensor x, std::int64_t stage, std::int64_t stride) {
    const bool is_grouped = variant_.block == Block::kGroupedBottleneck;
    const std::int64_t width = p_["width"] << stage;
    const std::int64_t groups = is_grouped ? p_["groups"] : 1;
    const std::int64_t inner = is_grouped ? groups * (p_["group_width"] << stage) : width;
    Tensor y = conv(name + "/a", x, inner, 1, {.stride = is_grouped ? 1 : stride});
    y = net_.relu(name + "/a/relu", y);
    y = conv(name + "/b", y, inner, 3,
             {.stride = is_grouped ? stride : 1, .pad_height = 1, .pad_width = 1, .group = groups});
    y = net_.relu(name + "/b/relu", y);
    return conv(name + "/c", y, width * kExpansion, 1, {.scale = kResidualScale});
  }

  const BuildParameters& p_;
  const ResidualVariant& variant_;
  Network net_;
};

template <const ResidualVariant& kVariant>
core::Result<BuiltNetwork> build_residual(const ParameterValues& given,
                                          const NetworkOptions& options) {
  const bool is_grouped = kVariant.block == Block::kGroupedBottleneck;
  const auto& known = is_grouped ? resnext_parameters() : resnet_parameters();
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(known, given));
  return ResidualNetwork(p, kVariant, options).build();
}

constexpr const char* kResnetSource =
    "He, Zhang, Ren, Sun, Deep Residual Learning for Image Recognition, 2015; table 1";

}  // namespace

ModelBuilder resnet18_builder() {
  return {"resnet18", "ResNet-18, 11.7 million parameters", kResnetSource, resnet_parameters(),
          build_residual<kResnet18>};
}

ModelBuilder resnet34_builder() {
  return {"resnet34", "ResNet-34, 21.8 million parameters", kResnetSource, resnet_parameters(),
          build_residual<kResnet34>};
}

ModelBuilder resnet50_builder() {
  return {"resnet50", "ResNet-50, 25.6 million parameters", kResnetSource, resnet_parameters(),
          build_residual<kResnet50>};
}

ModelBuilder resnet101_builder() {
  return {"resnet101", "ResNet-101, 44.5 million parameters", kResnetSource, resnet_parameters(),
          build_residual<kResnet101>};
}

ModelBuilder resnext50_builder() {
  return {"resnext50", "ResNeXt-50 (32x4d), 25.0 million parameters",
          "Xie, Girshick, Dollar, Tu, He, Aggregated Residual Transformations for Deep Neural "
          "Networks, 2017; table 1",
          resnext_parameters(), build_residual<kResnext50>};
}

}  // namespace soapstone::models
