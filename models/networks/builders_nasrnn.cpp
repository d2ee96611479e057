// The recurrent cell that neural architecture search found, unrolled. Zoph and Le, 2017, figure 6;
// the wiring is that of TensorFlow's NASCell. A step has 8 gates, each from its own product of the
// step's input and of the last step's result; all steps share the weights.
#include <array>
#include <cmath>

#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using Tensor = Network::Tensor;

constexpr std::size_t kGates = 8;

const std::vector<ModelParameter>& nasrnn_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "sequences at once"},
      {"steps", 5, "steps of the sequence", 1, 10000},
      {"hidden", 512, "numbers in an input and in the state"}};
  return kParameters;
}

class NasCell {
 public:
  NasCell(Network& net, std::int64_t hidden) : net_(net) {
    const double deviation = std::sqrt(1.0 / static_cast<double>(hidden));
    for (std::size_t i = 0; i < kGates; ++i) {
      const std::string gate = "gate" + std::to_string(i);
      from_input_[i] = net.weight(gate + ".input", {hidden, hidden}, deviation);
      from_state_[i] = net.weight(gate + ".state", {hidden, hidden}, deviation);
    }
  }

  struct State {
    Tensor cell, output;
  };

  State step(const std::string& name, Tensor x, const State& before) {
    name_ = name;
    std::array<Tensor, kGates> a, b;
    for (std::size_t i = 0; i < kGates; ++i) {
      a[i] = apply("matmul", {x, from_input_[i]});
      b[i] = apply("matmul", {before.output, from_state_[i]});
    }
    const Tensor g0 = sigmoid(add(a[0], b[0])), g1 = relu(add(a[1], b[1]));
    const Tensor g2 = sigmoid(add(a[2], b[2])), g3 = relu(mul(a[3], b[3]));
    const Tensor g4 = tanh(add(a[4], b[4])), g5 = sigmoid(add(a[5], b[5]));
    const Tensor g6 = tanh(add(a[6], b[6])), g7 = sigmoid(add(a[7], b[7]));
    const Tensor first = tanh(mul(g0, g1)), second = tanh(add(g2, g3));
    const Tensor third = tanh(mul(g4, g5)), fourth = sigmoid(add(g6, g7));
    const Tensor injected = tanh(add(first, before.cell));
    const Tensor cell = mul(injected, second);
    return {cell, tanh(mul(cell, tanh(add(third, fourth))))};
  }

 private:
  Tensor apply(const std::string& op, std::vector<Tensor> inputs) {
    return net_.append(op, std::move(inputs), {}, name_ + "/" + op);
  }
  Tensor add(Tensor a, Tensor b) { return apply("add", {a, b}); }
  Tensor mul(Tensor a, Tensor b) { return apply("mul", {a, b}); }
  Tensor sigmoid(Tensor x) { return apply("sigmoid", {x}); }
  Tensor relu(Tensor x) { return apply("relu", {x}); }
  Tensor tanh(Tensor x) { return apply("tanh", {x}); }

  Network& net_;
  std::string name_;
  std::array<Tensor, kGates> from_input_, from_state_;
};

core::Result<BuiltNetwork> build_nasrnn(const ParameterValues& given,
                                        const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(nasrnn_parameters(), given));
  Network net("nasrnn", options);
  const core::Dims dims = {p["batch"], p["hidden"]};
  NasCell::State state{net.input("cell", dims), net.input("state", dims)};
  NasCell cell(net, p["hidden"]);
  for (std::int64_t i = 0; i < p["steps"]; ++i) {
    const std::string step = std::to_string(i);
    state = cell.step("step" + step, net.input("x" + step, dims), state);
  }
  return net.finish({{state.output, "output"}, {state.cell, "last_cell"}});
}

}  // namespace

ModelBuilder nasrnn_builder() {
  return {"nasrnn", "NAS recurrent cell, unrolled",
          "Zoph, Le, Neural Architecture Search with Reinforcement Learning, 2017; figure 6",
          nasrnn_parameters(), build_nasrnn};
}

}  // namespace soapstone::models
