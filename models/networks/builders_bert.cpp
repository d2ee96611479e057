// BERT: a stack of Transformer encoders over token embeddings. Devlin et al., 2018, section 3; the
// encoder is that of Vaswani et al., 2017, with gelu. `bert_base` ends with the sequence and its
// pooled first token; `bert` and `bert_large` with the scores of each token's word, as in
// pre-training with masked words (appendix A.1).
#include "models/layers/transformer.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr double kBertEpsilon = 1e-12;
constexpr std::int64_t kMostPositions = 512, kSegments = 2, kFeedForward = 4;

std::vector<ModelParameter> bert_parameters(std::int64_t layers, std::int64_t hidden,
                                            std::int64_t heads) {
  return {{"batch", 1, "sequences at once"},
          {"seq", 128, "tokens of a sequence", 1, kMostPositions},
          {"layers", layers, "encoders", 1, 1000},
          {"hidden", hidden, "numbers for a token; a multiple of heads"},
          {"heads", heads, "attention heads"},
          {"vocabulary", 30522, "distinct tokens"},
          {"feed", 0, "numbers inside a feed-forward; 0: four times hidden", 0}};
}

const std::vector<ModelParameter>& base_parameters() {
  static const std::vector<ModelParameter> kParameters = bert_parameters(12, 768, 12);
  return kParameters;
}

const std::vector<ModelParameter>& encoder_parameters() {
  static const std::vector<ModelParameter> kParameters = [] {
    auto all = base_parameters();
    all.push_back({"embeddings", 1, "0: the input is embedded already", 0, 1});
    return all;
  }();
  return kParameters;
}

const std::vector<ModelParameter>& large_parameters() {
  static const std::vector<ModelParameter> kParameters = bert_parameters(24, 1024, 16);
  return kParameters;
}

class Bert {
 public:
  Bert(const char* name, const BuildParameters& p, const NetworkOptions& options)
      : net_(name, options), batch_(p["batch"]), seq_(p["seq"]), hidden_(p["hidden"]),
        feed_(p["feed"] != 0 ? p["feed"] : kFeedForward * p["hidden"]), p_(p) {}

  core::Result<BuiltNetwork> build_encoders(bool embeddings) {
    Tensor x = embeddings ? embed() : net_.input("embeddings", {batch_, seq_, hidden_});
    x = encoders(x);
    return net_.finish({{x, "sequence"}, {pool(x), "pooled"}});
  }

  core::Result<BuiltNetwork> build_masked_words() {
    Tensor x = net_.linear("words", encoders(embed()), hidden_);
    x = net_.layer_norm("words/norm", net_.append("gelu", {x}, {}, "words/gelu"), kBertEpsilon);
    x = net_.matmul("head", x, net_.transpose("head/transpose", tokens_, {1, 0}));
    x = net_.add("head.add", x, net_.weight("head.bias", {p_["vocabulary"]}, 0.05));
    return net_.finish({{x, "scores"}});
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
    tokens_ = net_.table("embed/token", p_["vocabulary"], hidden_);
    const Tensor words = net_.look_up("embed/token", tokens_, tokens);
    const Tensor both =
        net_.add("embed/add_segment", words, rows("embed/segment", kSegments, segments));
    const Tensor sum = net_.add("embed/add_position", both, positions);
    return net_.layer_norm("embed/norm", sum, kBertEpsilon);
  }

  Tensor encoders(Tensor x) {
    for (std::int64_t i = 0; i < p_["layers"]; ++i) x = encoder("layer" + std::to_string(i), x);
    return x;
  }

  Tensor encoder(const std::string& name, Tensor x) {
    const AttentionOptions options{.heads = p_["heads"], .key_value_heads = p_["heads"]};
    x = net_.add(name + "/add1", attention(net_, name + "/attention", x, options), x);
    x = net_.layer_norm(name + "/norm1", x, kBertEpsilon);
    const Tensor y = gelu_feed_forward(net_, name, x, feed_, Gelu::kExact);
    return net_.layer_norm(name + "/norm2", net_.add(name + "/add2", y, x), kBertEpsilon);
  }

  /// Pools the sequence: its first token stands for it.
  Tensor pool(Tensor x) {
    const Tensor row =
        net_.reshape("pool/row", net_.slice("pool/first", x, 1, 0, 1), {batch_, hidden_});
    return net_.append("tanh", {net_.linear("pool", row, hidden_)}, {}, "pool/tanh");
  }

  Network net_;
  std::int64_t batch_, seq_, hidden_, feed_;
  Tensor tokens_;  ///< The table.
  const BuildParameters& p_;
};

core::Result<BuiltNetwork> build_bert_base(const ParameterValues& given,
                                           const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(encoder_parameters(), given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  return Bert("bert_base", p, options).build_encoders(p["embeddings"] != 0);
}

core::Result<BuiltNetwork> build_masked_words(const char* name,
                                              const std::vector<ModelParameter>& known,
                                              const ParameterValues& given,
                                              const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(known, given));
  SOAPSTONE_RETURN_IF_ERROR(p.require_multiple("hidden", "heads"));
  return Bert(name, p, options).build_masked_words();
}

core::Result<BuiltNetwork> build_bert(const ParameterValues& given, const NetworkOptions& options) {
  return build_masked_words("bert", base_parameters(), given, options);
}

core::Result<BuiltNetwork> build_bert_large(const ParameterValues& given,
                                            const NetworkOptions& options) {
  return build_masked_words("bert_large", large_parameters(), given, options);
}

constexpr const char* kBertSource =
    "Devlin, Chang, Lee, Toutanova, BERT: Pre-training of Deep Bidirectional Transformers for "
    "Language Understanding, 2018; section 3";

}  // namespace

ModelBuilder bert_base_builder() {
  return {"bert_base", "BERT-base encoder with embeddings and pooler, 109.5 million parameters",
          kBertSource, encoder_parameters(), build_bert_base};
}

ModelBuilder bert_builder() {
  return {"bert", "BERT that scores masked words, 109.5 million parameters", kBertSource,
          base_parameters(), build_bert};
}

ModelBuilder bert_large_builder() {
  return {"bert_large", "BERT-large that scores masked words, 335.2 million parameters",
          kBertSource, large_parameters(), build_bert_large};
}

}  // namespace soapstone::models
