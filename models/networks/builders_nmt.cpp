// NMT, translation by an encoder and a decoder of recurrent layers. The decoder begins with the
// encoder's states, and its last layer's results attend to the encoder's: Luong, Pham and Manning,
// 2015, section 3.1 ("general" scores, no input feeding). The sizes are those of Jia, Zaharia and
// Aiken, 2019, section 8.1, whose four recurrent layers are two in each half.
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

}  // namespace

ModelBuilder nmt_builder() {
  return {"nmt", "Translation by 4 layers of LSTM with attention, 135.1 million parameters",
          "Luong, Pham, Manning, Effective Approaches to Attention-based Neural Machine "
          "Translation, 2015, section 3.1; Jia, Zaharia, Aiken, Beyond Data and Model Parallelism "
          "for Deep Neural Networks, 2019, section 8.1",
          nmt_parameters(), build_nmt};
}

}  // namespace soapstone::models
