// RNNLM, a language model of recurrent layers: scores of the next token at each step. Zaremba,
// Sutskever and Vinyals, 2014, section 4.1; the sizes are those of Jia, Zaharia and Aiken, 2019,
// section 8.1.
#include "models/layers/recurrent.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

const std::vector<ModelParameter>& rnnlm_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sequences at once"},
      {"steps", 40, "tokens of a sequence", 1, 10000},
      {"layers", 2, "recurrent layers", 1, 1000},
      {"hidden", 2048, "numbers for a token, and in the state of a layer"},
      {"vocabulary", 10000, "distinct tokens"}};
  return kParameters;
}

core::Result<BuiltNetwork> build_rnnlm(const ParameterValues& given,
                                       const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(rnnlm_parameters(), given));
  Network net("rnnlm", options);
  const auto words =
      embedded_steps(net, "token", {p["batch"], p["steps"]}, p["vocabulary"], p["hidden"]);
  LstmLayers layers(net, "layer", p["layers"], p["hidden"], p["hidden"]);
  std::vector<LstmState> states;
  const auto hidden = join_steps(net, "join", layers.run(words, states));
  return net.finish({{net.linear("head", hidden, p["vocabulary"]), "scores"}});
}

}  // namespace

ModelBuilder rnnlm_builder() {
  return {"rnnlm", "Language model of 2 layers of LSTM, 108.1 million parameters",
          "Zaremba, Sutskever, Vinyals, Recurrent Neural Network Regularization, 2014, section "
          "4.1; Jia, Zaharia, Aiken, Beyond Data and Model Parallelism for Deep Neural Networks, "
          "2019, section 8.1",
          rnnlm_parameters(), build_rnnlm};
}

}  // namespace soapstone::models
