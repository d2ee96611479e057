// BERT-base: a stack of Transformer encoders over token embeddings. Devlin et al., 2018, section 3;
// the encoder is that of Vaswani et al., 2017, with gelu.
#include "models/layers/network.h"
#include "models/layers/transformer.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kBertEpsilon = 1e-12;
constexpr std::int64_t kMostPositions = 512, kSegments = 2, kFeedForward = 4;

const std::vector<ModelParameter>& bert_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sequences at once"},
      {"seq", 128, "tokens of a sequence", 1, kMostPositions},
      {"layers", 12, "encoders", 1, 1000},
      {"hidden", 768, "numbers for a token; a multiple of heads"},
      {"heads", 12, "attention heads"},
      {"vocabulary", 30522, "distinct tokens"},
      {"embeddings", 1, "0: the input is embedded already", 0, 1}};
  return kParameters;
}

class Bert {
 public:
  Bert(const BuildParameters& p, const NetworkOptions& options)
      : net_("bert_base", options), batch_(p["batch"]), seq_(p["seq"]), hidden_(p["hidden"]),
        p_(p) {}

  core::Result<BuiltNetwork> build() {
    Tensor x = p_["embeddings"] != 0 ? embed() : net_.input("embeddings", {batch_, seq_, hidden_});
    for (std::int64_t i = 0; i < p_["layers"]; ++i) x = encoder("layer" + std::to_string(i), x);
    return net_.finish({{x, "sequence"}, {pool(x), "pooled"}});
  }

 private:
  Tensor embed() {
    const Tensor tokens = net_.input("token_ids", {batch_, seq_}, core::DataType::kInt64);
    const Tensor segments = net_.input("segment_ids", {batch_, seq_}, core::DataType::kInt64);
    const auto rows = [&](const std::string& name, std::int64_t count, Tensor ids) {
      return net_.look_up(name, net_.table(name, count, hidden_), ids);
    };
    const Tensor positions = net_.slice(
        "embed/position", net_.table("embed/position", kMostPositions, hidden_), 0, 0, seq_);
    const Tensor words = rows("embed/token", p_["vocabulary"], tokens);
    const Tensor both =
        net_.add("embed/add_segment", words, rows("embed/segment", kSegments, segments));
    const Tensor sum = net_.add("embed/add_position", both, positions);
    return net_.layer_norm("embed/norm", sum, kBertEpsilon);
  }

  Tensor encoder(const std::string& name, Tensor x) {
    const AttentionOptions options{.heads = p_["heads"], .key_value_heads = p_["heads"]};
    x = net_.add(name + "/add1", attention(net_, name + "/attention", x, options), x);
    x = net_.layer_norm(name + "/norm1", x, kBertEpsilon);
    Tensor y = net_.linear(name + "/feed1", x, hidden_ * kFeedForward);
    y = net_.append("gelu", {y}, {}, name + "/gelu");
    y = net_.linear(name + "/feed2", y, hidden_);
    return net_.layer_norm(name + "/norm2", net_.add(name + "/add2", y, x), kBertEpsilon);
  }

  /// Pools the sequence: its first token stands for it.
  Tensor pool(Tensor x) {
    const Tensor row =
        net_.reshape("pool/row", net_.slice("pool/first", x, 1, 0, 1), {batch_, hidden_});
    return net_.append("tanh", {net_.linear("pool", row, hidden_)}, {}, "pool/tanh");
  }

  Network net_;
  std::int64_t batch_, seq_, hidden_;
  const BuildParameters& p_;
};

core::Result<BuiltNetwork> build_bert(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(bert_parameters(), given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  return Bert(p, options).build();
}

}  // namespace

ModelBuilder bert_base_builder() {
  return {"bert_base", "BERT-base encoder with embeddings and pooler, 109.5 million parameters",
          "Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers "
          "for Language Understanding, 2018; section 3",
          bert_parameters(), build_bert};
}

}  // namespace soapstone::models
