// The U-Net that predicts the noise of a diffused image: residual blocks with group norm, down
// through smaller and up through larger images, each of which also reads what the way down made at
// its size; attention at one of the sizes; all blocks know the time. Ho, Jain and Abbeel, 2020,
// appendix B.
#include <cmath>

#include "models/layers/transformer.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using core::Dims;
using Tensor = Network::Tensor;

constexpr double kUnetEpsilon = 1e-6;
constexpr std::int64_t kTimeWidening = 4;
constexpr double kLongestPeriod = 10000;
constexpr ConvOptions kSame = {.pad_height = 1, .pad_width = 1};

const std::vector<ModelParameter>& unet_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 32, "height and width of an image"},
      {"channels", 3, "of an image"},
      {"width", 128, "channels of the first convolution; an even multiple of norm_groups", 4, 4096},
      {"multipliers", 1222,
       "channels at each size of the image, in multiples of width: a digit each"},
      {"blocks", 2, "residual blocks at each size on the way down; one more on the way up", 1, 100},
      {"attention", 16, "height and width of images with attention"},
      {"norm_groups", 32, "groups of channels that are normalized together"}};
  return kParameters;
}

class Unet {
 public:
  Unet(const BuildParameters& p, const NetworkOptions& options)
      : p_(p), batch_(p["batch"]), width_(p["width"]),
        multipliers_(std::to_string(p["multipliers"])), net_("unet", options) {}

  core::Result<BuiltNetwork> build() {
    SOAPSTONE_RETURN_IF_ERROR(check());
    size_ = p_["image"];
    const Tensor image = net_.input("image", {batch_, p_["channels"], size_, size_});
    embed_time();
    Tensor x = down(net_.conv("first", image, width_, 3, 3, kSame));
    x = residual("middle/block0", x, net_.dims(x)[1]);
    x = residual("middle/block1", attend("middle/attention", x), net_.dims(x)[1]);
    x = norm_swish("last", up(x));
    return net_.finish({{net_.conv("last", x, p_["channels"], 3, 3, kSame), "noise"}});
  }

 private:
  core::Status check() const {
    if (width_ % 2 != 0) return core::invalid_input("the parameter width is odd");
    SOAPSTONE_RETURN_IF_ERROR(p_.require_multiple("width", "norm_groups"));
    if (multipliers_.find('0') != std::string::npos)
      return core::invalid_input("the parameter multipliers has the digit 0");
    const std::int64_t smallest = std::int64_t{1} << (multipliers_.size() - 1);
    if (p_["image"] % smallest == 0) return core::Done{};
    return core::invalid_input("the parameter image cannot be halved as often as multipliers says");
  }

  std::int64_t stages() const { return std::ssize(multipliers_); }
  std::int64_t channels(std::int64_t stage) const {
    return width_ * (multipliers_[static_cast<std::size_t>(stage)] - '0');
  }

  /// Sines and cosines of the time at several speeds, through two linear layers.
  void embed_time() {
    const std::int64_t half = width_ / 2;
    std::vector<float> speeds;
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = static_cast<double>(i) / static_cast<double>(half - 1);
      speeds.push_back(static_cast<float>(std::pow(kLongestPeriod, -exponent)));
    }
    const Tensor time = net_.input("time", {batch_}, core::DataType::kInt64);
    const Tensor at = net_.reshape(
        "time/column", net_.cast("time/cast", time, core::DataType::kFloat32), {batch_, 1});
    const Tensor row = net_.constant(core::Literal::floats({1, half}, speeds), "time.speeds");
    const Tensor angles = net_.mul("time/angles", at, row);
    const Tensor sines = net_.append("sin", {angles}, {}, "time/sin");
    Tensor x = net_.concat("time/join", {sines, net_.append("cos", {angles}, {}, "time/cos")}, 1);
    if (net_.type() != core::DataType::kFloat32) x = net_.cast("time/narrow", x, net_.type());
    x = net_.swish("time/1", net_.linear("time/1", x, kTimeWidening * width_));
    time_ = net_.swish("time/2", net_.linear("time/2", x, kTimeWidening * width_));
  }

  Tensor group_norm(const std::string& name, Tensor x) {
    const Dims dims = net_.dims(x);
    const std::int64_t groups = p_["norm_groups"];
    const std::int64_t inside = dims[1] * dims[2] * dims[3] / groups;
    Tensor y = net_.reshape(name + "/groups", x, {batch_, groups, inside});
    const Tensor mean = net_.reduce("reduce_mean", name + "/mean", y, {2}, true);
    y = net_.append("sub", {y, mean}, {}, name + "/sub");
    Tensor deviation = net_.mul(name + "/square", y, y);
    deviation = net_.reduce("reduce_mean", name + "/variance", deviation, {2}, true);
    deviation =
        net_.add(name + "/add_epsilon", deviation, net_.scalar(name + ".epsilon", kUnetEpsilon));
    deviation = net_.append("sqrt", {deviation}, {}, name + "/sqrt");
    y = net_.reshape(name + "/channels", net_.append("div", {y, deviation}, {}, name + "/div"),
                     dims);
    y = net_.mul(name + "/mul", y, net_.weight(name + ".scale", {dims[1], 1, 1}, 0.1, 1.0));
    return net_.add(name + "/add", y, net_.weight(name + ".bias", {dims[1], 1, 1}, 0.1));
  }

  Tensor norm_swish(const std::string& name, Tensor x) {
    return net_.swish(name + "/norm", group_norm(name + "/norm", x));
  }

  Tensor residual(const std::string& name, Tensor x, std::int64_t channels) {
    Tensor y = net_.conv(name + "/conv1", norm_swish(name + "/1", x), channels, 3, 3, kSame);
    const Tensor time =
        net_.reshape(name + "/time/reshape", net_.linear(name + "/time", time_, channels),
                     {batch_, channels, 1, 1});
    y = net_.add(name + "/add_time", y, time);
    y = net_.conv(name + "/conv2", norm_swish(name + "/2", y), channels, 3, 3, kSame);
    if (net_.dims(x)[1] != channels) x = net_.conv(name + "/shortcut", x, channels, 1, 1, {});
    return net_.add(name + "/add", x, y);
  }

  /// Self-attention of all places of the image.
  Tensor attend(const std::string& name, Tensor x) {
    const Dims dims = net_.dims(x);
    Tensor y = net_.reshape(name + "/flat", group_norm(name + "/norm", x),
                            {batch_, dims[1], dims[2] * dims[3]});
    y = attention(net_, name, net_.transpose(name + "/places", y, {0, 2, 1}), {});
    y = net_.reshape(name + "/image", net_.transpose(name + "/channels", y, {0, 2, 1}), dims);
    return net_.add(name + "/add", x, y);
  }

  Tensor block(const std::string& stage, std::int64_t i, Tensor x, std::int64_t channels) {
    const std::string name = stage + "/block" + std::to_string(i);
    x = residual(name, x, channels);
    return size_ == p_["attention"] ? attend(name + "/attention", x) : x;
  }

  Tensor down(Tensor x) {
    made_ = {x};
    for (std::int64_t stage = 0; stage < stages(); ++stage) {
      const std::string name = "down" + std::to_string(stage);
      for (std::int64_t i = 0; i < p_["blocks"]; ++i)
        made_.push_back(x = block(name, i, x, channels(stage)));
      if (stage + 1 == stages()) break;
      x = net_.conv(name + "/halve", x, channels(stage), 3, 3,
                    {.stride = 2, .pad_height = 1, .pad_width = 1});
      made_.push_back(x);
      size_ /= 2;
    }
    return x;
  }

  Tensor up(Tensor x) {
    for (std::int64_t stage = stages() - 1; stage >= 0; --stage) {
      const std::string name = "up" + std::to_string(stage);
      for (std::int64_t i = 0; i <= p_["blocks"]; ++i) {
        x = net_.concat(name + "/block" + std::to_string(i) + "/join", {x, made_.back()}, 1);
        made_.pop_back();
        x = block(name, i, x, channels(stage));
      }
      if (stage == 0) break;
      x = net_.conv(name + "/double", repeated(name + "/repeat", x), channels(stage), 3, 3, kSame);
    }
    return x;
  }

  /// Each place of the image as 2 × 2 places.
  Tensor repeated(const std::string& name, Tensor x) {
    const std::int64_t channels = net_.dims(x)[1];
    const std::int64_t before = size_;
    size_ *= 2;
    x = net_.reshape(name + "/split", x, {batch_, channels, before, 1, before, 1});
    x = net_.expand(name, x, {batch_, channels, before, 2, before, 2});
    return net_.reshape(name + "/join", x, {batch_, channels, size_, size_});
  }

  const BuildParameters& p_;
  std::int64_t batch_, width_, size_ = 0;  // of the image at present
  std::string multipliers_;
  Tensor time_;
  std::vector<Tensor> made_;  ///< On the way down, that the way up has not read yet.
  Network net_;
};

core::Result<BuiltNetwork> build_unet(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(unet_parameters(), given));
  return Unet(p, options).build();
}

}  // namespace

ModelBuilder unet_builder() {
  return {"unet", "Diffusion U-Net of images of 32x32, 35.7 million parameters",
          "Ho, Jain, Abbeel, Denoising Diffusion Probabilistic Models, 2020; appendix B",
          unet_parameters(), build_unet};
}

}  // namespace soapstone::models
