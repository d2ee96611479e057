// RNNTC, a benchmark of parallelization: texts classified by recurrent layers. Jia, Zaharia and
// Aiken, 2019, section 8.1; the data set and so the vocabulary are those of Kim, 2014, table 1.
#include "models/layers/recurrent.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

const std::vector<ModelParameter>& rnntc_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "texts at once"},
      {"steps", 40, "tokens of a text", 1, 10000},
      {"layers", 4, "recurrent layers", 1, 1000},
      {"hidden", 1024, "numbers for a token, and in the state of a layer"},
      {"vocabulary", 18765, "distinct tokens"},
      {"classes", 2, "size of the result"}};
  return kParameters;
}

core::Result<BuiltNetwork> build_rnntc(const ParameterValues& given,
                                       const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(rnntc_parameters(), given));
  Network net("rnntc", options);
  const auto words =
      embedded_steps(net, "token", {p["batch"], p["steps"]}, p["vocabulary"], p["hidden"]);
  LstmLayers layers(net, "layer", p["layers"], p["hidden"], p["hidden"]);
  std::vector<LstmState> states;
  layers.run(words, states);
  return net.finish({{net.linear("fc", states.back().hidden, p["classes"]), "scores"}});
}

}  // namespace

ModelBuilder rnntc_builder() {
  return {"rnntc", "Text classification by 4 layers of LSTM, 52.8 million parameters",
          "Jia, Zaharia, Aiken, Beyond Data and Model Parallelism for Deep Neural Networks, 2019; "
          "section 8.1",
          rnntc_parameters(), build_rnntc};
}

}  // namespace soapstone::models
