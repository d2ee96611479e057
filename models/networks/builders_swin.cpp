// Swin Transformer, operator by operator as a PyTorch model of it is exported: windows by reshape
// and transpose, shifts by slices and concat, the relative position bias gathered from its table,
// layer norm and gelu in primitive operators (as below opset 17 and 20). Liu et al., 2021, section
// 3 and table 7.
#include <cmath>
#include <cstdint>
#include <span>

#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using core::Dims;
using core::Polynomial;
using Tensor = Network::Tensor;

constexpr double kSwinEpsilon = 1e-5;
constexpr std::int64_t kStages = 4, kPatch = 4, kWidening = 4;
/// The mask adds this to scores that must not count.
constexpr float kMasked = -100.0F;

const std::vector<ModelParameter>& swin_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 224, "height and width; a multiple of 32 windows"},
      {"window", 7, "height and width of a window"},
      {"width", 96, "channels of the first stage; a multiple of its heads"},
      {"heads", 3, "attention heads of the first stage"},
      {"depth1", 2, "blocks of the first stage", 1, 1000},
      {"depth2", 2, "blocks of the second stage", 1, 1000},
      {"depth3", 6, "blocks of the third stage", 1, 1000},
      {"depth4", 2, "blocks of the fourth stage", 1, 1000},
      {"classes", 1000, "size of the result"}};
  return kParameters;
}

class Swin {
 public:
  Swin(const BuildParameters& p, const NetworkOptions& options)
      : net_("swin", options), batch_(p["batch"]), window_(p["window"]), p_(p) {}

  core::Result<BuiltNetwork> build() {
    const Tensor image = net_.input("image", {batch_, 3, p_["image"], p_["image"]});
    size_ = p_["image"] / kPatch;
    width_ = p_["width"];
    heads_ = p_["heads"];
    Tensor x = net_.conv("embed", image, width_, kPatch, kPatch, {.stride = kPatch});
    x = net_.reshape("embed/flat", x, {batch_, width_, size_ * size_});
    x = layer_norm("embed/norm", net_.transpose("embed/last", x, {0, 2, 1}));
    for (std::int64_t stage = 1; stage <= kStages; ++stage) {
      const std::string name = "stage" + std::to_string(stage);
      for (std::int64_t k = 0; k < p_["depth" + std::to_string(stage)]; ++k)
        x = block(name + "/block" + std::to_string(k), x, k % 2 == 1 && size_ > window_);
      if (stage < kStages) x = merge_patches(name + "/merge", x);
    }
    x = net_.reduce("reduce_mean", "pool", layer_norm("norm", x), {1}, false);
    return net_.finish({{net_.linear("head", x, p_["classes"]), "scores"}});
  }

 private:
  Tensor op(std::string_view name, std::vector<Tensor> inputs, const std::string& label) {
    return net_.append(name, std::move(inputs), {}, label);
  }

  Tensor layer_norm(const std::string& name, Tensor x) {
    const Dims shape = net_.dims(x);
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    const Tensor mean = net_.reduce("reduce_mean", name + "/mean", x, {last}, true);
    const Tensor centered = op("sub", {x, mean}, name + "/sub");
    const Tensor square = op("pow", {centered, net_.scalar(name + ".two", 2)}, name + "/pow");
    Tensor deviation = net_.reduce("reduce_mean", name + "/variance", square, {last}, true);
    deviation =
        op("add", {deviation, net_.scalar(name + ".epsilon", kSwinEpsilon)}, name + "/add_epsilon");
    deviation = op("sqrt", {deviation}, name + "/sqrt");
    Tensor y = op("div", {centered, deviation}, name + "/div");
    y = op("mul", {y, net_.weight(name + ".scale", {shape.back()}, 0.1, 1.0)}, name + "/mul");
    return op("add", {y, net_.weight(name + ".bias", {shape.back()}, 0.1)}, name + "/add");
  }

  Tensor gelu(const std::string& name, Tensor x) {
    Tensor y = op("div", {x, net_.scalar(name + ".root", std::sqrt(2.0F))}, name + "/div");
    y = op("erf", {y}, name + "/erf");
    y = op("add", {y, net_.scalar(name + ".one", 1)}, name + "/add");
    return op("mul", {op("mul", {x, y}, name + "/mul"), net_.scalar(name + ".half", 0.5F)},
              name + "/half");
  }

  /// [batch, size, size, width], moved toward lower indices by `shift`, cyclically.
  Tensor roll(const std::string& name, Tensor x, std::int64_t shift) {
    const std::int64_t by = (shift + size_) % size_;
    for (std::int64_t axis = 1; axis <= 2; ++axis) {
      const std::string part = name + std::to_string(axis);
      const Tensor rest = net_.slice(part + "/rest", x, axis, by, size_ - by);
      const Tensor wrapped = net_.slice(part + "/wrapped", x, axis, 0, by);
      x = net_.concat(part + "/concat", {rest, wrapped}, axis);
    }
    return x;
  }

  std::int64_t windows() const { return (size_ / window_) * (size_ / window_); }

  Tensor to_windows(const std::string& name, Tensor x) {
    const std::int64_t n = size_ / window_;
    x = net_.reshape(name + "/split", x, {batch_, n, window_, n, window_, width_});
    x = net_.transpose(name + "/swap", x, {0, 1, 3, 2, 4, 5});
    return net_.reshape(name + "/join", x, {batch_ * n * n, window_ * window_, width_});
  }

  Tensor from_windows(const std::string& name, Tensor x) {
    const std::int64_t n = size_ / window_;
    x = net_.reshape(name + "/split", x, {batch_, n, n, window_, window_, width_});
    x = net_.transpose(name + "/swap", x, {0, 1, 3, 2, 4, 5});
    return net_.reshape(name + "/join", x, {batch_, size_, size_, width_});
  }

  /// [1, heads, tokens, tokens]: a number for each head and distance between two places.
  Tensor position_bias(const std::string& name) {
    const std::int64_t span = 2 * window_ - 1, tokens = window_ * window_;
    std::vector<std::int64_t> index;
    for (std::int64_t a = 0; a < tokens; ++a)
      for (std::int64_t b = 0; b < tokens; ++b)
        index.push_back((a / window_ - b / window_ + window_ - 1) * span + a % window_ -
                        b % window_ + window_ - 1);
    const Tensor table = net_.weight(name + ".table", {span * span, heads_}, 0.02);
    const Tensor indices =
        net_.constant(core::Literal::ints({tokens * tokens}, index), name + ".index");
    Tensor bias = net_.append("gather", {table, indices}, {{"axis", Polynomial(0)}}, name);
    bias = net_.reshape(name + "/square", bias, {tokens, tokens, heads_});
    bias = net_.transpose(name + "/heads_first", bias, {2, 0, 1});
    return net_.reshape(name + "/unsqueeze", bias, {1, heads_, tokens, tokens});
  }

  /// The part of the image from which a row or column of a shifted window comes.
  std::int64_t part(std::int64_t at) const {
    return at < size_ - window_ ? 0 : at < size_ - window_ / 2 ? 1 : 2;
  }

  /// [1, windows, 1, tokens, tokens]: places that are no neighbors in the image see nothing of
  /// each other.
  Tensor mask(const std::string& name) {
    const std::int64_t n = size_ / window_, tokens = window_ * window_;
    std::vector<float> values;
    for (std::int64_t w = 0; w < n * n; ++w) {
      const auto region = [&](std::int64_t t) {
        return 3 * part(w / n * window_ + t / window_) + part(w % n * window_ + t % window_);
      };
      for (std::int64_t a = 0; a < tokens; ++a)
        for (std::int64_t b = 0; b < tokens; ++b)
          values.push_back(region(a) == region(b) ? 0.0F : kMasked);
    }
    return net_.constant(name, {1, n * n, 1, tokens, tokens}, values);
  }

  Tensor attention(const std::string& name, Tensor x, bool shifted) {
    const std::int64_t tokens = window_ * window_, count = batch_ * windows();
    const std::int64_t head = width_ / heads_;
    Tensor qkv = net_.linear(name + "/qkv", x, 3 * width_);
    qkv = net_.reshape(name + "/split", qkv, {count, tokens, 3, heads_, head});
    qkv = net_.transpose(name + "/thirds_first", qkv, {2, 0, 3, 1, 4});
    const auto third = [&](const std::string& which, std::int64_t k) {
      const Tensor index =
          net_.constant(core::Literal::ints({}, std::span(&k, 1)), name + which + ".index");
      return net_.append("gather", {qkv, index}, {{"axis", Polynomial(0)}}, name + which);
    };
    Tensor q = third("/query", 0);
    q = op("mul", {q, net_.scalar(name + ".factor", 1 / std::sqrt(static_cast<float>(head)))},
           name + "/scale");
    const Tensor k = net_.transpose(name + "/key/transpose", third("/key", 1), {0, 1, 3, 2});
    const Tensor v = third("/value", 2);
    Tensor scores = op("matmul", {q, k}, name + "/scores");
    scores = op("add", {scores, position_bias(name + "/position")}, name + "/add_position");
    if (shifted) {
      const Dims by_image = {batch_, windows(), heads_, tokens, tokens};
      scores = net_.reshape(name + "/by_image", scores, by_image);
      scores = op("add", {scores, mask(name + ".mask")}, name + "/add_mask");
      scores = net_.reshape(name + "/by_window", scores, {count, heads_, tokens, tokens});
    }
    scores = net_.softmax(name + "/softmax", scores, 3);
    Tensor y = op("matmul", {scores, v}, name + "/context");
    y = net_.transpose(name + "/merge", y, {0, 2, 1, 3});
    y = net_.reshape(name + "/join", y, {count, tokens, width_});
    return net_.linear(name + "/output", y, width_);
  }

  /// [batch, size², width] to the same.
  Tensor block(const std::string& name, Tensor x, bool shifted) {
    const std::int64_t shift = window_ / 2;
    Tensor y = layer_norm(name + "/norm1", x);
    y = net_.reshape(name + "/image", y, {batch_, size_, size_, width_});
    if (shifted) y = roll(name + "/shift", y, shift);
    y = attention(name + "/attention", to_windows(name + "/windows", y), shifted);
    y = from_windows(name + "/image_again", y);
    if (shifted) y = roll(name + "/shift_back", y, -shift);
    y = net_.reshape(name + "/tokens", y, {batch_, size_ * size_, width_});
    x = op("add", {x, y}, name + "/add1");
    y = net_.linear(name + "/feed1", layer_norm(name + "/norm2", x), kWidening * width_);
    y = net_.linear(name + "/feed2", gelu(name + "/gelu", y), width_);
    return op("add", {x, y}, name + "/add2");
  }

  /// Every second row and column, four times, side by side; half as many channels then.
  Tensor merge_patches(const std::string& name, Tensor x) {
    x = net_.reshape(name + "/image", x, {batch_, size_, size_, width_});
    std::vector<Tensor> parts;
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::vector<Polynomial> starts{k % 2, k / 2}, sizes{size_ / 2, size_ / 2};
      parts.push_back(net_.append("slice", {x},
                                  {{"axes", std::vector<Polynomial>{1, 2}},
                                   {"starts", starts},
                                   {"sizes", sizes},
                                   {"steps", std::vector<Polynomial>{2, 2}}},
                                  name + "/part" + std::to_string(k)));
    }
    x = net_.concat(name + "/concat", parts, 3);
    size_ /= 2;
    x = net_.reshape(name + "/tokens", x, {batch_, size_ * size_, 4 * width_});
    x = layer_norm(name + "/norm", x);
    width_ *= 2;
    heads_ *= 2;
    const Tensor w = net_.weight(name + ".weight", {2 * width_, width_},
                                 std::sqrt(2.0 / static_cast<double>(3 * width_)));
    return op("matmul", {x, w}, name + "/reduce");
  }

  Network net_;
  std::int64_t batch_, window_;
  std::int64_t size_ = 0, width_ = 0, heads_ = 0;  // of the present stage
  const BuildParameters& p_;
};

core::Result<BuiltNetwork> build_swin(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(swin_parameters(), given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("width", "heads"));
  const std::int64_t smallest = kPatch << (kStages - 1);
  if (p["image"] % (smallest * p["window"]) != 0)
    return core::invalid_input("the parameter image is not a multiple of 32 windows");
  return Swin(p, options).build();
}

}  // namespace

ModelBuilder swin_builder() {
  return {"swin",
          "Swin-T as PyTorch exports it, 28.3 million parameters; depth3=94 has 6,600 nodes",
          "Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, "
          "2021; section 3, table 7",
          swin_parameters(), build_swin};
}

}  // namespace soapstone::models
