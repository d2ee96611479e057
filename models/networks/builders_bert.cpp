// BERT-base: a stack of Transformer encoders over token embeddings. Devlin et al., 2018, section 3;
// the encoder is that of Vaswani et al., 2017, with gelu.
#include <array>
#include <cmath>

#include "models/networks/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using core::Dims;
using core::Polynomial;
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
  Bert(const BuildParameters& p, std::uint64_t seed)
      : net_("bert_base", seed), batch_(p["batch"]), seq_(p["seq"]), hidden_(p["hidden"]),
        heads_(p["heads"]), head_(hidden_ / heads_), p_(p) {}

  core::Result<core::Graph> build() {
    Tensor x = p_["embeddings"] != 0 ? embed() : net_.input("embeddings", {batch_, seq_, hidden_});
    for (std::int64_t i = 0; i < p_["layers"]; ++i) x = encoder("layer" + std::to_string(i), x);
    return net_.finish({{x, "sequence"}, {pool(x), "pooled"}});
  }

 private:
  Tensor look_up(const std::string& name, std::int64_t rows, Tensor ids) {
    const Tensor table = net_.weight(name + ".table", {rows, hidden_}, 0.02);
    return net_.append("gather", {table, ids}, {{"axis", Polynomial(0)}}, name);
  }

  Tensor embed() {
    const Tensor tokens = net_.input("token_ids", {batch_, seq_}, core::DataType::kInt64);
    const Tensor segments = net_.input("segment_ids", {batch_, seq_}, core::DataType::kInt64);
    const Tensor positions =
        net_.append("slice", {net_.weight("embed/position.table", {kMostPositions, hidden_}, 0.02)},
                    {{"axes", std::vector<Polynomial>{0}},
                     {"starts", std::vector<Polynomial>{0}},
                     {"sizes", std::vector<Polynomial>{seq_}},
                     {"steps", std::vector<Polynomial>{1}}},
                    "embed/position");
    const Tensor words = look_up("embed/token", p_["vocabulary"], tokens);
    const Tensor both = net_.append("add", {words, look_up("embed/segment", kSegments, segments)},
                                    {}, "embed/add_segment");
    const Tensor sum = net_.append("add", {both, positions}, {}, "embed/add_position");
    return net_.layer_norm("embed/norm", sum, kBertEpsilon);
  }

  /// [batch, seq, hidden] to [batch, heads, …] with the other two dimensions in the given order.
  Tensor split_heads(const std::string& name, Tensor x, const Dims& perm) {
    return net_.transpose(name + "/heads",
                          net_.reshape(name + "/split", x, {batch_, seq_, heads_, head_}), perm);
  }

  Tensor attention(const std::string& name, Tensor x) {
    const auto project = [&](const std::string& part, const Dims& perm) {
      return split_heads(name + part, net_.linear(name + part, x, hidden_), perm);
    };
    const Tensor q = project("/query", {0, 2, 1, 3});
    const Tensor k = project("/key", {0, 2, 3, 1});
    const Tensor v = project("/value", {0, 2, 1, 3});
    const Tensor factor = net_.constant(
        core::Literal::scalar(1.0f / std::sqrt(static_cast<float>(head_))), name + "/factor");
    Tensor scores = net_.append("matmul", {q, k}, {}, name + "/scores");
    scores = net_.append("mul", {scores, factor}, {}, name + "/scale");
    scores = net_.append("softmax", {scores}, {{"axis", Polynomial(3)}}, name + "/softmax");
    Tensor y = net_.append("matmul", {scores, v}, {}, name + "/context");
    y = net_.transpose(name + "/merge", y, {0, 2, 1, 3});
    y = net_.reshape(name + "/join", y, {batch_, seq_, hidden_});
    return net_.linear(name + "/output", y, hidden_);
  }

  Tensor encoder(const std::string& name, Tensor x) {
    x = net_.append("add", {attention(name + "/attention", x), x}, {}, name + "/add1");
    x = net_.layer_norm(name + "/norm1", x, kBertEpsilon);
    Tensor y = net_.linear(name + "/feed1", x, hidden_ * kFeedForward);
    y = net_.append("gelu", {y}, {}, name + "/gelu");
    y = net_.linear(name + "/feed2", y, hidden_);
    return net_.layer_norm(name + "/norm2", net_.append("add", {y, x}, {}, name + "/add2"),
                           kBertEpsilon);
  }

  /// Pools the sequence: its first token stands for it.
  Tensor pool(Tensor x) {
    const Tensor first = net_.append("slice", {x},
                                     {{"axes", std::vector<Polynomial>{1}},
                                      {"starts", std::vector<Polynomial>{0}},
                                      {"sizes", std::vector<Polynomial>{1}},
                                      {"steps", std::vector<Polynomial>{1}}},
                                     "pool/first");
    const Tensor row = net_.reshape("pool/row", first, {batch_, hidden_});
    return net_.append("tanh", {net_.linear("pool", row, hidden_)}, {}, "pool/tanh");
  }

  Network net_;
  std::int64_t batch_, seq_, hidden_, heads_, head_;
  const BuildParameters& p_;
};

core::Result<core::Graph> build_bert(const std::map<std::string, std::int64_t>& given,
                                     std::uint64_t seed) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(bert_parameters(), given));
  if (p["hidden"] % p["heads"] != 0) {
    return core::invalid_input("the parameter hidden is not a multiple of heads");
  }
  return Bert(p, seed).build();
}

}  // namespace

ModelBuilder bert_base_builder() {
  return {"bert_base", "BERT-base encoder with embeddings and pooler, 109.5 million parameters",
          "Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers "
          "for Language Understanding, 2018; section 3",
          bert_parameters(), build_bert};
}

}  // namespace soapstone::models
