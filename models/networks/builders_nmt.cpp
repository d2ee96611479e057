// Translation by an encoder and a decoder of recurrent layers. In `nmt` the decoder begins with the
// encoder's states, and its last layer's results attend to the encoder's: Luong, Pham and Manning,
// 2015, section 3.1 ("general" scores, no input feeding). The sizes are those of Jia, Zaharia and
// Aiken, 2019, section 8.1, whose four recurrent layers are two in each half. In `gnmt` the
// encoder's first layer reads in both directions, from the third layer on there is a sum around
// each, and what the decoder's first layer attends to at one step all of its layers read at the
// next: Wu et al., 2016, sections 3.1 to 3.3 and 4.1.
#include <cmath>
#include <optional>

#include "models/layers/recurrent.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

const std::vector<ModelParameter>& nmt_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sentences at once"},
      {"steps", 40, "tokens of a source, and of a target", 1, 10000},
      {"layers", 2, "recurrent layers of the encoder, and of the decoder", 1, 1000},
      {"hidden", 1024, "numbers for a token, and in the state of a layer"},
      {"vocabulary", 32000, "distinct tokens of each language"}};
  return kParameters;
}

/// Weighted means of the source's states, joined with the target's: [batch, steps, hidden] each.
Tensor attend(Network& net, Tensor target, Tensor source, std::int64_t hidden) {
  const Tensor query = net.linear("attention/query", target, hidden, false);
  const Tensor keys = net.transpose("attention/keys", source, {0, 2, 1});
  const Tensor scores = net.matmul("attention/scores", query, keys);
  const Tensor shares = net.softmax("attention/softmax", scores, 2);
  const Tensor context = net.matmul("attention/context", shares, source);
  const Tensor both = net.concat("attention/join", {context, target}, 2);
  return net.append("tanh", {net.linear("attention/output", both, hidden, false)}, {},
                    "attention/tanh");
}

core::Result<BuiltNetwork> build_nmt(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(nmt_parameters(), given));
  const std::int64_t hidden = p["hidden"], layers = p["layers"];
  const core::Dims ids = {p["batch"], p["steps"]};
  Network net("nmt", options);
  const auto source_words = embedded_steps(net, "source", ids, p["vocabulary"], hidden);
  const auto target_words = embedded_steps(net, "target", ids, p["vocabulary"], hidden);
  LstmLayers encoder(net, "encoder", layers, hidden, hidden);
  LstmLayers decoder(net, "decoder", layers, hidden, hidden);
  std::vector<LstmState> states;
  const Tensor source = join_steps(net, "source/join", encoder.run(source_words, states));
  const Tensor target = join_steps(net, "target/join", decoder.run(target_words, states));
  const Tensor attended = attend(net, target, source, hidden);
  return net.finish({{net.linear("head", attended, p["vocabulary"]), "scores"}});
}

const std::vector<ModelParameter>& gnmt_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sentences at once"},
      {"steps", 40, "tokens of a source, and of a target", 1, 10000},
      {"layers", 8, "recurrent layers of the encoder, and of the decoder", 2, 1000},
      {"hidden", 1024, "numbers for a token, and in the state of a layer"},
      {"vocabulary", 32000, "distinct tokens of each language"}};
  return kParameters;
}

class Gnmt {
 public:
  Gnmt(const BuildParameters& p, const NetworkOptions& options)
      : net_("gnmt", options), batch_(p["batch"]), count_(p["steps"]), layers_(p["layers"]),
        hidden_(p["hidden"]), vocabulary_(p["vocabulary"]) {}

  core::Result<BuiltNetwork> build() {
    const core::Dims ids = {batch_, count_};
    const Steps source = embedded_steps(net_, "source", ids, vocabulary_, hidden_);
    const Steps target = embedded_steps(net_, "target", ids, vocabulary_, hidden_);
    source_ = join_steps(net_, "source/join", encode(source));
    const Tensor decoded = join_steps(net_, "target/join", decode(target));
    return net_.finish({{net_.linear("head", decoded, vocabulary_), "scores"}});
  }

 private:
  using Steps = std::vector<Tensor>;

  Steps encode(const Steps& words) {
    Steps x = both_directions(words);
    for (std::int64_t i = 1; i < layers_; ++i) {
      const std::string name = "encoder" + std::to_string(i);
      const std::int64_t inputs = i == 1 ? 2 * hidden_ : hidden_;
      const Steps y = LstmLayer(net_, name, inputs, hidden_).run(x);
      for (std::size_t t = 0; t < y.size(); ++t) x[t] = with_input(name, t, i, y[t], x[t]);
    }
    return x;
  }

  Steps both_directions(const Steps& words) {
    const Steps forward = LstmLayer(net_, "encoder0/forward", hidden_, hidden_).run(words);
    const Steps backward =
        LstmLayer(net_, "encoder0/backward", hidden_, hidden_).run({words.rbegin(), words.rend()});
    Steps both;
    for (std::size_t t = 0; t < words.size(); ++t)
      both.push_back(net_.concat("encoder0/join/step" + std::to_string(t),
                                 {forward[t], backward[words.size() - 1 - t]}, 1));
    return both;
  }

  /// The sum around layer number `layer`, from the third on.
  Tensor with_input(const std::string& name, std::size_t step, std::int64_t layer, Tensor y,
                    Tensor x) {
    if (layer < 2) return y;
    return net_.add(name + "/step" + std::to_string(step) + "/add_input", y, x);
  }

  Steps decode(const Steps& words) {
    prepare_attention();
    std::vector<LstmLayer> layers;
    for (std::int64_t i = 0; i < layers_; ++i)
      layers.emplace_back(net_, "decoder" + std::to_string(i), 2 * hidden_, hidden_);
    std::vector<std::optional<LstmState>> states(layers.size());
    Steps results;
    for (std::size_t t = 0; t < words.size(); ++t) {
      const Tensor context = attend(t, states[0]);
      Tensor x = words[t];
      for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string name = "decoder" + std::to_string(i);
        const Tensor input =
            net_.concat(name + "/step" + std::to_string(t) + "/join", {x, context}, 1);
        states[i] = layers[i].step(t, input, states[i] ? &*states[i] : nullptr);
        x = with_input(name, t, static_cast<std::int64_t>(i), states[i]->hidden, x);
      }
      results.push_back(x);
    }
    return results;
  }

  void prepare_attention() {
    const double deviation = std::sqrt(1.0 / static_cast<double>(hidden_));
    query_ = net_.weight("attention/query.weight", {hidden_, hidden_}, deviation);
    score_ = net_.weight("attention/score.weight", {hidden_, 1}, deviation);
    keys_ = net_.linear("attention/keys", source_, hidden_);
  }

  /// The source's states in the shares that a layer scores for each, [batch, hidden]. Source:
  /// Bahdanau, Cho, Bengio, Neural Machine Translation by Jointly Learning to Align and Translate,
  /// 2015, appendix A.1.2.
  Tensor attend(std::size_t step, const std::optional<LstmState>& before) {
    const std::string name = "attention/step" + std::to_string(step);
    Tensor sum = keys_;
    if (before) {
      const Tensor query = net_.matmul(name + "/query", before->hidden, query_);
      sum = net_.add(name + "/add", sum,
                     net_.reshape(name + "/reshape", query, {batch_, 1, hidden_}));
    }
    const Tensor inner = net_.append("tanh", {sum}, {}, name + "/tanh");
    const Tensor scores = net_.reshape(name + "/row", net_.matmul(name + "/scores", inner, score_),
                                       {batch_, 1, count_});
    const Tensor context =
        net_.matmul(name + "/context", net_.softmax(name + "/softmax", scores, 2), source_);
    return net_.reshape(name + "/flat", context, {batch_, hidden_});
  }

  Network net_;
  std::int64_t batch_, count_, layers_, hidden_, vocabulary_;
  Tensor source_, keys_, query_, score_;
};

core::Result<BuiltNetwork> build_gnmt(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(gnmt_parameters(), given));
  return Gnmt(p, options).build();
}

}  // namespace

ModelBuilder nmt_builder() {
  return {"nmt", "Translation by 4 layers of LSTM with attention, 135.1 million parameters",
          "Luong, Pham, Manning, Effective Approaches to Attention-based Neural Machine "
          "Translation, 2015, section 3.1; Jia, Zaharia, Aiken, Beyond Data and Model Parallelism "
          "for Deep Neural Networks, 2019, section 8.1",
          nmt_parameters(), build_nmt};
}

ModelBuilder gnmt_builder() {
  return {"gnmt",
          "Google's translation by 16 layers of LSTM with attention, 280.8 million parameters",
          "Wu et al., Google's Neural Machine Translation System, 2016; sections 3.1 to 3.3, 4.1",
          gnmt_parameters(), build_gnmt};
}

}  // namespace soapstone::models
