// NASNet-A. Zoph et al., 2017, figure 4 and appendix A.4; how cells are joined, and the factorized
// reduction, as in the authors' release.
#include <utility>

#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kNasnetEpsilon = 1e-3;

const std::vector<ModelParameter>& nasnet_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 224, "height and width of an image"},
      {"classes", 1000, "size of the result"},
      {"repeats", 4, "normal cells of each of the three stages", 1, 100},
      {"width", 44, "channels of the first stage's cells; a multiple of 4"},
      {"stem", 32, "channels of the first convolution"},
      {"fold_bn", 0, "1: batch norm is folded into convolutions", 0, 1}};
  return kParameters;
}

class Nasnet {
 public:
  Nasnet(const BuildParameters& p, const NetworkOptions& options)
      : p_(p), net_("nasnet_a", options) {}

  core::Result<BuiltNetwork> build() {
    const std::int64_t width = p_["width"];
    Tensor before = net_.input("image", {p_["batch"], 3, p_["image"], p_["image"]});
    before = conv("conv", before, p_["stem"], 3, {.stride = 2});
    Tensor x = reduction_cell("stem1", before, before, width / 4);
    const auto advance = [&](Tensor next) { before = std::exchange(x, next); };
    advance(reduction_cell("stem2", x, before, width / 2));
    for (std::int64_t stage = 0; stage < 3; ++stage) {
      const std::int64_t channels = width << stage;
      if (stage > 0)
        advance(reduction_cell("reduction" + std::to_string(stage), x, before, channels));
      for (std::int64_t k = 0; k < p_["repeats"]; ++k) {
        const std::string cell = "cell" + std::to_string(stage) + "_" + std::to_string(k);
        advance(normal_cell(cell, x, before, channels));
      }
    }
    x = net_.relu("relu", x);
    return net_.finish({{net_.linear("fc", net_.global_average(x), p_["classes"]), "scores"}});
  }

 private:
  /// Convolution and batch norm.
  Tensor conv(const std::string& name, Tensor x, std::int64_t channels, std::int64_t kernel,
              const ConvOptions& options = {}) {
    return net_.conv_batch_norm(name, x, channels, kernel, kernel, options, kNasnetEpsilon,
                                p_["fold_bn"] != 0);
  }
  /// A relu, then a pointwise convolution with batch norm.
  Tensor squeezed(const std::string& name, Tensor x, std::int64_t channels) {
    return conv(name, net_.relu(name + "/relu", x), channels, 1);
  }

  /// The cell before the last one at the size and width of what the last one gives.
  Tensor fitted(const std::string& name, Tensor before, Tensor last, std::int64_t channels) {
    if (before == last) return before;
    if (net_.dims(before)[2] != net_.dims(last)[2]) return halved(name, before, channels);
    return net_.dims(before)[1] == channels ? before : squeezed(name, before, channels);
  }
  /// Every other position of the image, and those between them, half of the channels each.
  Tensor halved(const std::string& name, Tensor x, std::int64_t channels) {
    x = net_.relu(name + "/relu", x);
    const std::vector<core::Polynomial> next{0, 0, -1, -1, 0, 0, 1, 1};
    const Tensor shifted = net_.append("pad", {x}, {{"pads", next}}, name + "/shift");
    const auto path = [&](const char* part, Tensor of, std::int64_t width) {
      return net_.conv(name + part, of, width, 1, 1, {.stride = 2, .bias = false});
    };
    const Tensor both = net_.concat(
        name + "/both",
        {path("/even", x, channels / 2), path("/odd", shifted, channels - channels / 2)}, 1);
    return net_.batch_norm(name, both, kNasnetEpsilon);
  }

  /// Twice a relu, a depthwise and a pointwise convolution, and batch norm.
  Tensor separable(const std::string& name, Tensor x, std::int64_t channels, std::int64_t kernel,
                   std::int64_t stride = 1) {
    for (const char* part : {"/1", "/2"}) {
      const std::string layer = name + part;
      const std::int64_t width = net_.dims(x)[1];
      x = net_.conv(layer + "/depthwise", net_.relu(layer + "/relu", x), width, kernel, kernel,
                    {.stride = std::exchange(stride, 1),
                     .pad_height = kernel / 2,
                     .pad_width = kernel / 2,
                     .group = width,
                     .bias = false});
      x = conv(layer + "/pointwise", x, channels, 1);
    }
    return x;
  }

  Tensor normal_cell(const std::string& name, Tensor last, Tensor before, std::int64_t channels) {
    const Tensor p = fitted(name + "/before", before, last, channels);
    const Tensor h = squeezed(name + "/last", last, channels);
    const auto average = [&](const char* part, Tensor x) {
      return net_.average_pool(name + part, x, 3, 1, 1);
    };
    const Tensor a = net_.add(name + "/a", separable(name + "/a1", h, channels, 5),
                              separable(name + "/a2", p, channels, 3));
    const Tensor b = net_.add(name + "/b", separable(name + "/b1", p, channels, 5),
                              separable(name + "/b2", p, channels, 3));
    const Tensor c = net_.add(name + "/c", average("/c1", h), p);
    const Tensor d = net_.add(name + "/d", average("/d1", p), average("/d2", p));
    const Tensor e = net_.add(name + "/e", separable(name + "/e1", h, channels, 3), h);
    return net_.concat(name, {p, a, b, c, d, e}, 1);
  }

  Tensor reduction_cell(const std::string& name, Tensor last, Tensor before,
                        std::int64_t channels) {
    const Tensor p = fitted(name + "/before", before, last, channels);
    const Tensor h = squeezed(name + "/last", last, channels);
    const auto most = [&](const char* part) { return net_.max_pool(name + part, h, 3, 2, 1); };
    const Tensor a = net_.add(name + "/a", separable(name + "/a1", h, channels, 5, 2),
                              separable(name + "/a2", p, channels, 7, 2));
    const Tensor b = net_.add(name + "/b", most("/b1"), separable(name + "/b2", p, channels, 7, 2));
    const Tensor c = net_.add(name + "/c", net_.average_pool(name + "/c1", h, 3, 2, 1),
                              separable(name + "/c2", p, channels, 5, 2));
    const Tensor d = net_.add(name + "/d", net_.average_pool(name + "/d1", a, 3, 1, 1), b);
    const Tensor e = net_.add(name + "/e", separable(name + "/e1", a, channels, 3), most("/e2"));
    return net_.concat(name, {b, c, d, e}, 1);
  }

  const BuildParameters& p_;
  Network net_;
};

core::Result<BuiltNetwork> build_nasnet(const ParameterValues& given,
                                        const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(nasnet_parameters(), given));
  if (p["width"] % 4 != 0) return core::invalid_input("the parameter width is not a multiple of 4");
  return Nasnet(p, options).build();
}

}  // namespace

ModelBuilder nasnet_a_builder() {
  return {"nasnet_a", "NASNet-A (4 @ 1056), 5.3 million parameters",
          "Zoph, Vasudevan, Shlens, Le, Learning Transferable Architectures for Scalable Image "
          "Recognition, 2017; figure 4 and appendix A.4",
          nasnet_parameters(), build_nasnet};
}

}  // namespace soapstone::models
