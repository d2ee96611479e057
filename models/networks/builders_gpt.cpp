// GPT: Transformer decoders that see no later token. Radford et al., 2019, section 2.3 (GPT-2);
// Brown et al., 2020, table 2.1 (GPT-3, which differs in sizes and in the sparsity of some layers
// that is left out here). Layer norm stands before attention and feed-forward, and gelu is its fit
// by tanh, as in the authors' release.
#include "models/networks/network.h"
#include "models/networks/network_builders.h"
#include "models/networks/transformer.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kGptEpsilon = 1e-5;
constexpr std::int64_t kGptWidening = 4;

const std::vector<ModelParameter>& gpt_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sequences at once"},
      {"seq", 128, "tokens of a sequence; not more than positions"},
      {"positions", 1024, "rows of the table of positions"},
      {"layers", 12, "decoders", 1, 1000},
      {"hidden", 768, "numbers for a token; a multiple of heads"},
      {"heads", 12, "attention heads"},
      {"feed", 0, "numbers inside a feed-forward; 0: four times hidden", 0},
      {"vocabulary", 50257, "distinct tokens"},
      {"tied", 1, "1: the last layer's weight is the table of tokens", 0, 1}};
  return kParameters;
}

class Gpt {
 public:
  Gpt(const BuildParameters& p, const NetworkOptions& options)
      : net_("gpt", options), seq_(p["seq"]), hidden_(p["hidden"]), p_(p) {}

  core::Result<BuiltNetwork> build() {
    const Tensor ids = net_.input("token_ids", {p_["batch"], seq_}, core::DataType::kInt64);
    const Tensor tokens = net_.table("embed/token", p_["vocabulary"], hidden_);
    const Tensor positions = net_.slice(
        "embed/position", net_.table("embed/position", p_["positions"], hidden_), 0, 0, seq_);
    Tensor x = net_.add("embed/add", net_.look_up("embed/token", tokens, ids), positions);
    attention_ = {.heads = p_["heads"],
                  .key_value_heads = p_["heads"],
                  .mask = causal_mask(net_, "mask", seq_)};
    for (std::int64_t i = 0; i < p_["layers"]; ++i) x = decoder("layer" + std::to_string(i), x);
    x = net_.layer_norm("norm", x, kGptEpsilon);
    const Tensor scores =
        p_["tied"] != 0 ? net_.matmul("head", x, net_.transpose("head/transpose", tokens, {1, 0}))
                        : net_.linear("head", x, p_["vocabulary"], false);
    return net_.finish({{scores, "scores"}});
  }

 private:
  Tensor decoder(const std::string& name, Tensor x) {
    Tensor y = net_.layer_norm(name + "/norm1", x, kGptEpsilon);
    x = net_.add(name + "/add1", x, attention(net_, name + "/attention", y, attention_));
    y = net_.layer_norm(name + "/norm2", x, kGptEpsilon);
    y = net_.linear(name + "/feed1", y, p_["feed"] != 0 ? p_["feed"] : kGptWidening * hidden_);
    y = net_.append("gelu", {y}, {{"approximate", std::string("tanh")}}, name + "/gelu");
    return net_.add(name + "/add2", x, net_.linear(name + "/feed2", y, hidden_));
  }

  Network net_;
  std::int64_t seq_, hidden_;
  AttentionOptions attention_;
  const BuildParameters& p_;
};

core::Result<BuiltNetwork> build_gpt(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(gpt_parameters(), given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  if (p["seq"] > p["positions"]) {
    return core::invalid_input("the parameter seq is larger than positions");
  }
  return Gpt(p, options).build();
}

}  // namespace

ModelBuilder gpt_builder() {
  return {"gpt", "GPT-2 small, 124.4 million parameters; GPT-3 by parameters",
          "Radford, Wu, Child, Luan, Amodei, Sutskever, Language Models are Unsupervised Multitask "
          "Learners, 2019; section 2.3",
          gpt_parameters(), build_gpt};
}

}  // namespace soapstone::models
