// See recurrent.h. One product from the input and one from the state make all four gates of a step.
// The first step of layers that begin with zeros has no product from the state.
#include "models/layers/recurrent.h"

#include <cmath>

namespace soapstone::models {

using core::Dims;
using core::Polynomial;
using Tensor = Network::Tensor;

LstmLayer::LstmLayer(Network& net, std::string name, std::int64_t inputs, std::int64_t hidden)
    : net_(net), name_(std::move(name)), hidden_(hidden) {
  const double deviation = std::sqrt(1.0 / static_cast<double>(hidden));
  from_input_ = net.weight(name_ + ".input", {inputs, 4 * hidden}, deviation);
  from_state_ = net.weight(name_ + ".state", {hidden, 4 * hidden}, deviation);
  bias_ = net.weight(name_ + ".bias", {4 * hidden}, 0.05);
}

LstmState LstmLayer::step(std::size_t step, Tensor x, const LstmState* before) const {
  const std::string name = name_ + "/step" + std::to_string(step);
  Tensor sum = net_.matmul(name + "/from_input", x, from_input_);
  if (before) {
    const Tensor from_state = net_.matmul(name + "/from_state", before->hidden, from_state_);
    sum = net_.add(name + "/sum", sum, from_state);
  }
  sum = net_.add(name + "/add", sum, bias_);
  std::vector<Tensor> gates = net_.append_all(
      "split", {sum}, {{"axis", Polynomial(1)}, {"sizes", std::vector<Polynomial>(4, hidden_)}},
      name + "/gates");
  gates.resize(4);  // none after an error
  const auto apply = [&](const char* op, const char* part, Tensor y) {
    return net_.append(op, {y}, {}, name + "/" + part);
  };
  const Tensor in = apply("sigmoid", "in", gates[0]), forget = apply("sigmoid", "forget", gates[1]);
  const Tensor out = apply("sigmoid", "out", gates[2]), value = apply("tanh", "value", gates[3]);
  Tensor cell = net_.mul(name + "/gained", in, value);
  if (before) cell = net_.add(name + "/cell", net_.mul(name + "/kept", forget, before->cell), cell);
  return {net_.mul(name + "/hidden", out, apply("tanh", "shown", cell)), cell};
}

std::vector<Tensor> LstmLayer::run(const std::vector<Tensor>& steps) const {
  std::vector<Tensor> results;
  std::optional<LstmState> state;
  for (std::size_t t = 0; t < steps.size(); ++t) {
    state = step(t, steps[t], state ? &*state : nullptr);
    results.push_back(state->hidden);
  }
  return results;
}

LstmLayers::LstmLayers(Network& net, const std::string& name, std::int64_t layers,
                       std::int64_t inputs, std::int64_t hidden) {
  for (std::int64_t i = 0; i < layers; ++i)
    layers_.emplace_back(net, name + std::to_string(i), i == 0 ? inputs : hidden, hidden);
}

std::vector<Tensor> LstmLayers::run(const std::vector<Tensor>& steps,
                                    std::vector<LstmState>& states) {
  std::vector<Tensor> results = steps;
  const bool from_zero = states.empty();
  if (from_zero) states.resize(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (std::size_t t = 0; t < results.size(); ++t) {
      states[i] = layers_[i].step(t, results[t], from_zero && t == 0 ? nullptr : &states[i]);
      results[t] = states[i].hidden;
    }
  }
  return results;
}

std::vector<Tensor> split_steps(Network& net, const std::string& name, Tensor x) {
  const Dims dims = net.dims(x);
  const auto count = static_cast<std::size_t>(dims[1]);
  std::vector<Tensor> steps = net.append_all(
      "split", {x}, {{"axis", Polynomial(1)}, {"sizes", std::vector<Polynomial>(count, 1)}}, name);
  for (std::size_t t = 0; t < steps.size(); ++t)
    steps[t] = net.reshape(name + "/step" + std::to_string(t), steps[t], {dims[0], dims[2]});
  return steps;
}

Tensor join_steps(Network& net, const std::string& name, const std::vector<Tensor>& steps) {
  std::vector<Tensor> parts;
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const Dims dims = net.dims(steps[t]);
    parts.push_back(
        net.reshape(name + "/step" + std::to_string(t), steps[t], {dims[0], 1, dims[1]}));
  }
  return net.concat(name, std::move(parts), 1);
}

std::vector<Tensor> embedded_steps(Network& net, const std::string& name, const Dims& ids,
                                   std::int64_t vocabulary, std::int64_t width) {
  const Tensor tokens = net.input(name + "_ids", ids, core::DataType::kInt64);
  const Tensor table = net.table(name, vocabulary, width);
  return split_steps(net, name + "/steps", net.look_up(name, table, tokens));
}

}  // namespace soapstone::models
