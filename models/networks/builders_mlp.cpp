// A multi-layer perceptron: linear layers with relu between them. Rumelhart, Hinton and Williams,
// 1986.
#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

const std::vector<ModelParameter>& mlp_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "samples at once"},
      {"layers", 2, "linear layers", 1, 10000},
      {"inputs", 784, "numbers of a sample"},
      {"hidden", 512, "results of every layer but the last"},
      {"outputs", 10, "results of the last layer"}};
  return kParameters;
}

core::Result<BuiltNetwork> build_mlp(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(mlp_parameters(), given));
  Network net("mlp", options);
  const core::Dims widths(static_cast<std::size_t>(p["layers"] - 1), p["hidden"]);
  const Network::Tensor x =
      net.perceptron("layer", net.input("x", {p["batch"], p["inputs"]}), widths);
  return net.finish({{net.linear("last", x, p["outputs"]), "scores"}});
}

}  // namespace

ModelBuilder mlp_builder() {
  return {"mlp", "Multi-layer perceptron with relu, 0.4 million parameters",
          "Rumelhart, Hinton, Williams, Learning Representations by Back-Propagating Errors, 1986",
          mlp_parameters(), build_mlp};
}

}  // namespace soapstone::models
