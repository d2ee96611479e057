// Llama: Transformer decoders with RMS norm, rotary positions, several query heads to a key head
// and a gated feed-forward. Touvron et al., 2023, section 2.2; the key heads and sizes are those of
// Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3.
#include "models/layers/network.h"
#include "models/layers/transformer.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using core::Polynomial;
using Tensor = Network::Tensor;

constexpr double kLlamaEpsilon = 1e-5;

const std::vector<ModelParameter>& llama_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sequences at once"},
      {"seq", 128, "tokens of a sequence"},
      {"layers", 4, "decoders", 1, 1000},
      {"hidden", 512, "numbers for a token; an even multiple of heads"},
      {"heads", 8, "attention heads; a multiple of kv_heads"},
      {"kv_heads", 2, "heads of keys and values"},
      {"feed", 1536, "numbers inside a feed-forward"},
      {"vocabulary", 32000, "distinct tokens"},
      {"theta", 500000, "base of the angles of rotary positions", 1, std::int64_t{1} << 40}};
  return kParameters;
}

class Llama {
 public:
  Llama(const BuildParameters& p, const NetworkOptions& options)
      : net_("llama", options), seq_(p["seq"]), hidden_(p["hidden"]), p_(p) {}

  core::Result<BuiltNetwork> build() {
    const Tensor ids = net_.input("token_ids", {p_["batch"], seq_}, core::DataType::kInt64);
    Tensor x =
        net_.look_up("embed/token", net_.table("embed/token", p_["vocabulary"], hidden_), ids);
    attention_ = {.heads = p_["heads"],
                  .key_value_heads = p_["kv_heads"],
                  .bias = false,
                  .mask = causal_mask(net_, "mask", seq_),
                  .rotation =
                      rotary_tables(net_, "rotary", seq_, hidden_ / p_["heads"], p_["theta"])};
    for (std::int64_t i = 0; i < p_["layers"]; ++i) x = decoder("layer" + std::to_string(i), x);
    return net_.finish(
        {{net_.linear("head", rms_norm("norm", x), p_["vocabulary"], false), "scores"}});
  }

 private:
  Tensor rms_norm(const std::string& name, Tensor x) {
    return net_.append("rms_norm", {x, net_.weight(name + ".scale", {hidden_}, 0.1, 1.0)},
                       {{"axis", Polynomial(2)}, {"epsilon", kLlamaEpsilon}}, name);
  }

  /// SwiGLU: x·sigmoid(x) of one projection times another projection.
  Tensor feed_forward(const std::string& name, Tensor x) {
    const Tensor gate = net_.linear(name + "/gate", x, p_["feed"], false);
    const Tensor sigmoid = net_.append("sigmoid", {gate}, {}, name + "/gate/sigmoid");
    const Tensor swish = net_.mul(name + "/gate/swish", gate, sigmoid);
    const Tensor up = net_.linear(name + "/up", x, p_["feed"], false);
    return net_.linear(name + "/down", net_.mul(name + "/mul", swish, up), hidden_, false);
  }

  Tensor decoder(const std::string& name, Tensor x) {
    Tensor y = rms_norm(name + "/norm1", x);
    x = net_.add(name + "/add1", x, attention(net_, name + "/attention", y, attention_));
    y = feed_forward(name + "/feed", rms_norm(name + "/norm2", x));
    return net_.add(name + "/add2", x, y);
  }

  Network net_;
  std::int64_t seq_, hidden_;
  AttentionOptions attention_;
  const BuildParameters& p_;
};

core::Result<BuiltNetwork> build_llama(const ParameterValues& given,
                                       const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(llama_parameters(), given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("heads", "kv_heads"));
  if (p["hidden"] / p["heads"] % 2 != 0) {
    return core::invalid_input("the parameter hidden is not an even multiple of heads");
  }
  return Llama(p, options).build();
}

}  // namespace

ModelBuilder llama_builder() {
  return {"llama", "A small Llama, 44.8 million parameters; Llama 3 by parameters",
          "Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023, section "
          "2.2; Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3",
          llama_parameters(), build_llama};
}

}  // namespace soapstone::models
