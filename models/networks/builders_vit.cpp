// Vision Transformer: encoders over patches of an image and a token for its class. Dosovitskiy et
// al., 2020, section 3.1 and table 1.
#include "models/layers/transformer.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kVitEpsilon = 1e-6;
constexpr std::int64_t kVitWidening = 4;

const std::vector<ModelParameter>& vit_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "images at once"},
      {"image", 224, "height and width of an image; a multiple of patch"},
      {"patch", 16, "height and width of a patch"},
      {"layers", 12, "encoders", 1, 1000},
      {"hidden", 768, "numbers for a patch; a multiple of heads"},
      {"heads", 12, "attention heads"},
      {"feed", 0, "numbers inside a feed-forward; 0: four times hidden", 0},
      {"classes", 1000, "size of the result"}};
  return kParameters;
}

/// Patches behind the class's token, with their positions added, [batch, tokens, hidden].
Tensor embed(Network& net, const BuildParameters& p) {
  const std::int64_t batch = p["batch"], hidden = p["hidden"], patch = p["patch"];
  const std::int64_t rows = p["image"] / patch, patches = rows * rows;
  Tensor x = net.input("image", {batch, 3, p["image"], p["image"]});
  x = net.conv("embed/patch", x, hidden, patch, patch, {.stride = patch});
  x = net.reshape("embed/flat", x, {batch, hidden, patches});
  x = net.transpose("embed/patches", x, {0, 2, 1});
  const Tensor token = net.weight("embed/class.token", {1, 1, hidden}, 0.02);
  x = net.concat("embed/join", {net.expand("embed/class", token, {batch, 1, hidden}), x}, 1);
  return net.add("embed/add_position", x, net.table("embed/position", patches + 1, hidden));
}

core::Result<BuiltNetwork> build_vit(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(vit_parameters(), given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("image", "patch"));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  const std::int64_t feed = p["feed"] != 0 ? p["feed"] : kVitWidening * p["hidden"];
  const AttentionOptions all{.heads = p["heads"], .key_value_heads = p["heads"]};
  Network net("vit", options);
  Tensor x = embed(net, p);
  for (std::int64_t i = 0; i < p["layers"]; ++i) {
    const std::string name = "layer" + std::to_string(i);
    x = pre_norm_block(net, name, x, all, kVitEpsilon, [&](Tensor y) {
      return gelu_feed_forward(net, name, y, feed, Gelu::kExact);
    });
  }
  x = net.layer_norm("norm", x, kVitEpsilon);
  x = net.reshape("class/row", net.slice("class", x, 1, 0, 1), {p["batch"], p["hidden"]});
  return net.finish({{net.linear("head", x, p["classes"]), "scores"}});
}

}  // namespace

ModelBuilder vit_builder() {
  return {"vit", "ViT-B/16, 86.6 million parameters; ViT-L and ViT-H by parameters",
          "Dosovitskiy et al., An Image is Worth 16x16 Words: Transformers for Image Recognition "
          "at Scale, 2020; section 3.1, table 1",
          vit_parameters(), build_vit};
}

}  // namespace soapstone::models
