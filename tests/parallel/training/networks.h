// Small networks as text, and steps of their training with values for all inputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ops/evaluation/evaluate.h"
#include "parallel/training/training_step.h"
#include "parallel/work/saved_results.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel {

using core::TensorId;
using Values = std::vector<double>;

/// `w: f32[2, 3]` for each name and shape, with random values.
inline std::string weights(const std::vector<std::pair<std::string, core::Dims>>& shapes) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> real(0.25, 1);
  std::string text;
  for (const auto& [name, dims] : shapes) {
    text += "  " + name + ": f32" + core::to_string(dims) + " = {";
    for (std::int64_t k = 0; k < core::element_count(dims); ++k) {
      const double sign = random() % 2 == 0 ? 1 : -1;
      const bool is_positive = name.starts_with("p");
      text += (k == 0 ? "" : ", ") + std::to_string((is_positive ? 1 : sign) * real(random));
    }
    text += "}\n";
  }
  return text;
}

inline std::string mlp() {
  return "graph mlp\n  x: f32[4, 3]\n" +
         weights({{"w", {3, 5}}, {"b", {5}}, {"v", {5, 2}}, {"c", {2}}}) +
         "  h = matmul(x, w)\n  hb = add(h, b)\n  t = tanh(hb)\n"
         "  y = matmul(t, v)\n  z = add(y, c)\n  return z\n";
}

inline std::string conv_net() {
  return "graph conv_net\n  x: f32[2, 2, 6, 6]\n" +
         weights({{"k", {4, 2, 3, 3}},
                  {"s", {4}},
                  {"b", {4}},
                  {"m", {4}},
                  {"p", {4}},
                  {"d", {4, 2, 3, 3}},
                  {"w", {4, 3}}}) +
         "  c = conv(x, k; pads=[1, 1, 1, 1], strides=[2, 2])\n"
         "  n = batch_norm(c, s, b, m, p)\n  r = sigmoid(n)\n"
         "  e = conv(r, d; group=2, pads=[1, 1, 1, 1])\n  sum = add(e, r)\n"
         "  q = average_pool(sum; kernel=[3, 3])\n  f = reshape(q; shape=[2, 4])\n"
         "  y = matmul(f, w)\n  return y\n";
}

inline std::string attention() {
  return "graph attention\n  x: f32[2, 3, 4]\n" +
         weights({{"wq", {4, 4}},
                  {"wk", {4, 4}},
                  {"wv", {4, 4}},
                  {"wo", {4, 4}},
                  {"s", {4}},
                  {"b", {4}}}) +
         "  half: f32[] = {0.5}\n"
         "  q0 = matmul(x, wq)\n  q1 = reshape(q0; shape=[2, 3, 2, 2])\n"
         "  q = transpose(q1; perm=[0, 2, 1, 3])\n"
         "  k0 = matmul(x, wk)\n  k1 = reshape(k0; shape=[2, 3, 2, 2])\n"
         "  k = transpose(k1; perm=[0, 2, 3, 1])\n"
         "  v0 = matmul(x, wv)\n  v1 = reshape(v0; shape=[2, 3, 2, 2])\n"
         "  v = transpose(v1; perm=[0, 2, 1, 3])\n"
         "  a0 = matmul(q, k)\n  a1 = mul(a0, half)\n  a = softmax(a1; axis=3)\n"
         "  o0 = matmul(a, v)\n  o1 = transpose(o0; perm=[0, 2, 1, 3])\n"
         "  o2 = reshape(o1; shape=[2, 3, 4])\n  o3 = matmul(o2, wo)\n  o = add(o3, x)\n"
         "  y = layer_norm(o, s, b; axis=2)\n  return y\n";
}

inline std::string lstm_cell() {
  return "graph lstm\n  x: f32[2, 3]\n  h: f32[2, 4]\n  c: f32[2, 4]\n" +
         weights({{"w", {7, 16}}, {"b", {16}}}) +
         "  xh = concat(x, h; axis=1)\n  g0 = matmul(xh, w)\n  g = add(g0, b)\n"
         "  i0, f0, o0, u0 = split(g; axis=1, sizes=[4, 4, 4, 4])\n"
         "  i = sigmoid(i0)\n  f = sigmoid(f0)\n  o = sigmoid(o0)\n  u = tanh(u0)\n"
         "  kept = mul(f, c)\n  new = mul(i, u)\n  state = add(kept, new)\n"
         "  t = tanh(state)\n  y = mul(o, t)\n  return state, y\n";
}

/// The table is read twice: by position, and as the output layer.
inline std::string language_model() {
  return "graph language_model\n  ids: i64[2, 3]\n" + weights({{"table", {5, 4}}, {"w", {4, 4}}}) +
         "  e = gather(table, ids; axis=0)\n  h = matmul(e, w)\n  r = gelu(h)\n"
         "  t = transpose(table; perm=[1, 0])\n  y = matmul(r, t)\n  return y\n";
}

/// A step with values for all its inputs, and its gradients as further outputs.
class Trained {
 public:
  explicit Trained(TrainingStep step, const core::Graph& forward) : step_(std::move(step)) {
    core::GraphBuilder builder(step_.graph);
    std::vector<TensorId> outputs(step_.graph.outputs().begin(), step_.graph.outputs().end());
    for (const TrainedWeight& weight : step_.weights) outputs.push_back(weight.gradient);
    builder.set_outputs(std::move(outputs));
    auto program = ops::GraphProgram<double>::compile(std::move(builder).finish().value()).value();
    program_ = std::make_unique<ops::GraphProgram<double>>(std::move(program));
    std::mt19937 random(9);
    std::uniform_real_distribution<double> real(-1, 1);
    for (const TensorId t : step_.graph.inputs()) {
      const core::TensorType& type = step_.graph.tensor(t).type;
      Values values(static_cast<std::size_t>(core::element_count(*core::concrete(type.shape))));
      for (double& value : values)
        value = core::is_floating(type.data_type) ? real(random) : double(random() % 2);
      values_[t] = std::move(values);
    }
    for (const TrainedWeight& weight : step_.weights) {
      if (const auto& first = forward.tensor(weight.source).value)
        values_[weight.value] = first->to_doubles();
      for (const TensorId state : weight.states) std::ranges::fill(values_[state], 0.0);
    }
    values_[step_.rate] = {0.05};
    if (step_.step.valid()) values_[step_.step] = {0};
  }

  std::vector<Values> run() const {
    std::vector<Values> inputs;
    for (const TensorId t : step_.graph.inputs()) inputs.push_back(values_.at(t));
    auto outputs = program_->run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return *std::move(outputs);
  }
  double loss() const { return run()[0][0]; }

  Values gradient(std::size_t weight) const {
    const auto outputs = run();
    return outputs[outputs.size() - step_.weights.size() + weight];
  }

  Values difference_quotients(std::size_t weight) {
    constexpr double kStep = 1e-5;
    Values quotients;
    for (double& w : values_[step_.weights[weight].value]) {
      const double at = w;
      w = at + kStep;
      const double above = loss();
      w = at - kStep;
      quotients.push_back((above - loss()) / (2 * kStep));
      w = at;
    }
    return quotients;
  }

  /// Puts updated weights and states in the place of the old ones.
  void advance() {
    const auto outputs = run();
    std::size_t next = 1;
    for (const TrainedWeight& weight : step_.weights) {
      values_[weight.value] = outputs[next++];
      for (const TensorId state : weight.states) values_[state] = outputs[next++];
    }
    if (step_.step.valid()) values_[step_.step][0] += 1;
  }

  void set_step(double number) { values_[step_.step] = {number}; }

  const TrainingStep& step() const { return step_; }

 private:
  TrainingStep step_;
  std::unique_ptr<ops::GraphProgram<double>> program_;
  std::map<TensorId, Values> values_;
};

inline Trained train(const core::Graph& forward, const TrainingOptions& options = {}) {
  auto step = training_step(forward, options);
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  return Trained(*std::move(step), forward);
}

/// The tensor of that name.
inline TensorId named(const core::Graph& graph, std::string_view name) {
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k)
    if (const TensorId t(k); graph.contains(t) && graph.tensor(t).name == name) return t;
  return TensorId::none();
}

inline void expect_near(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k)
    EXPECT_NEAR(actual[k], expected[k], 1e-6 * (1 + std::fabs(expected[k]))) << "element " << k;
}

struct TrainedNetwork {
  const char* name;
  std::string (*text)();
  std::size_t weights;
};

inline std::vector<TrainedNetwork> networks() {
  return {{"mlp", mlp, 4},
          {"conv_net", conv_net, 7},
          {"attention", attention, 6},
          {"lstm_cell", lstm_cell, 2},
          {"language_model", language_model, 2}};
}

/// As in TrainingOptions, where constants of at least one dimension are weights.
inline std::vector<bool> saved(const core::Graph& forward, Recompute what,
                               const std::vector<TensorId>& borders = {}) {
  std::vector<bool> is_weight(forward.tensor_bound(), false), is_border = is_weight;
  for (std::size_t t = 0; t < is_weight.size(); ++t) {
    const core::Tensor& tensor = forward.tensor(TensorId(t));
    is_weight[t] = tensor.value && !tensor.type.shape.empty();
  }
  for (const TensorId border : borders) is_border[border.index()] = true;
  StepOptions options;
  options.is_training = true;
  const StepWork work = step_work(forward, is_weight, options);
  return saved_results(forward, work, what, is_border);
}

}  // namespace soapstone::parallel
