// The derivatives of all operators against central differences in doubles, and what their
// comprehensions look like.
#include "ops/gradients/adjoint.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "ops/gradients/pruning.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// One node, with values for its inputs and for the cotangents of its outputs.
struct Subject {
  explicit Subject(const OpExample& example, unsigned seed = 3)
      : graph(graph_of(example.inputs, example.call, example.result_count())),
        node(graph.node(graph.order()[0])), semantics(semantics_of(graph, graph.order()[0])),
        inputs(random_inputs(graph, seed, example.positive)) {
    std::mt19937 random(seed + 1);
    for (const core::TensorId t : node.inputs) shapes.push_back(graph.tensor(t).type.shape);
    for (const core::TensorId t : node.outputs)
      cotangents.push_back(random_values({kF32, graph.tensor(t).type.shape}, random, false));
  }

  bool is_real(core::TensorId t) const { return core::is_floating(graph.tensor(t).type.data_type); }

  /// Σ of cotangent · output: a number that depends on all inputs.
  double value() const {
    double total = 0;
    const std::vector<Values> outputs = run(graph, inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      for (std::size_t i = 0; i < outputs[k].size(); ++i) total += outputs[k][i] * cotangents[k][i];
    return total;
  }

  Values difference_quotients(std::size_t input) {
    constexpr double kStep = 1e-5;
    Values quotients;
    for (double& x : inputs[input]) {
      const double at = x;
      x = at + kStep;
      const double above = value();
      x = at - kStep;
      quotients.push_back((above - value()) / (2 * kStep));
      x = at;
    }
    return quotients;
  }

  Semantics derivative(std::uint32_t input) const {
    return adjoint({semantics, shapes, input, std::vector<bool>(node.outputs.size(), true)});
  }

  Values gradient(std::uint32_t input) const {
    std::vector<core::Dims> dims;
    std::vector<std::span<const double>> operands(inputs.begin(), inputs.end());
    for (const Shape& shape : shapes) dims.push_back(*core::concrete(shape));
    for (std::size_t k = 0; k < cotangents.size(); ++k) {
      operands.emplace_back(cotangents[k]);
      dims.push_back(*core::concrete(graph.tensor(node.outputs[k]).type.shape));
    }
    Values result(inputs[input].size());
    const std::span<double> out(result);
    const auto done =
        CompiledSemantics<double>(derivative(input), dims).run(operands, std::span(&out, 1));
    EXPECT_TRUE(done.ok()) << done.error().to_string();
    return result;
  }

  core::Graph graph;
  const core::Node& node;
  Semantics semantics;
  std::vector<Values> inputs;
  std::vector<Shape> shapes;
  std::vector<Values> cotangents;
};

class EveryDerivative : public ::testing::TestWithParam<OpExample> {};

TEST_P(EveryDerivative, AgreesWithDifferences) {
  Subject subject(GetParam());
  if (!subject.is_real(subject.node.outputs[0])) return;
  for (std::uint32_t input = 0; input < subject.node.inputs.size(); ++input) {
    if (!subject.is_real(subject.node.inputs[input])) continue;
    SCOPED_TRACE(input);
    expect_near(subject.gradient(input), subject.difference_quotients(input), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryDerivative, ::testing::ValuesIn(op_examples()), example_name);

Subject subject(const std::string& inputs, const std::string& call) {
  return Subject({inputs, call, "", false});
}

std::string text(const Semantics& semantics, const core::SymbolTable& names = {}) {
  return to_string(semantics, names);
}

TEST(Adjoint, SolvesForThePositions) {
  const auto matmul = subject("a: f32[2, 3]  b: f32[3, 4]", "matmul(a, b)");
  EXPECT_EQ(matmul.derivative(0).stages.size(), 1u);
  EXPECT_EQ(matmul.derivative(0).stages[0].body->binders.size(), 1u);
  EXPECT_TRUE(matmul.derivative(0).stages[0].body->constraints.empty());
  const auto conv =
      subject("x: f32[2, 4, 9, 9]  w: f32[8, 4, 3, 3]", "conv(x, w; pads=[1, 1, 1, 1])");
  // Over filters, rows and columns of the kernel; the position in the result follows.
  EXPECT_EQ(conv.derivative(0).stages[0].body->binders.size(), 3u);
  // Over samples and positions.
  EXPECT_EQ(conv.derivative(1).stages[0].body->binders.size(), 3u);
}

TEST(Adjoint, ReadsWhatItNeedsAlone) {
  const auto reads = [](const char* inputs, const char* call, std::uint32_t input) {
    return inputs_read(subject(inputs, call).derivative(input));
  };
  using Inputs = std::set<std::uint32_t>;
  EXPECT_EQ(reads("a: f32[2, 3]  b: f32[3, 4]", "matmul(a, b)", 0), (Inputs{1, 2}));
  EXPECT_EQ(reads("a: f32[2, 3]  b: f32[3, 4]", "matmul(a, b)", 1), (Inputs{0, 2}));
  EXPECT_EQ(reads("a: f32[2, 3]  b: f32[3]", "add(a, b)", 1), (Inputs{2}));
  EXPECT_EQ(reads("a: f32[2, 3]", "reshape(a; shape=[6])", 0), (Inputs{1}));
  EXPECT_EQ(reads("a: f32[4, 3]  i: i64[2]", "gather(a, i; axis=0)", 0), (Inputs{1, 2}));
  EXPECT_EQ(reads("a: f32[2, 3]", "floor(a)", 0), (Inputs{}));
}

TEST(Adjoint, KeepsRequirementsOnWhatItReads) {
  EXPECT_EQ(
      subject("a: f32[4, 3]  i: i64[2]", "gather(a, i; axis=0)").derivative(0).requirements.size(),
      1u);
}

TEST(Adjoint, MayLackCotangents) {
  const auto split = subject("x: f32[6]", "split(x; axis=0, sizes=[6])");
  const Semantics none = adjoint({split.semantics, split.shapes, 0, {false}});
  EXPECT_EQ(inputs_read(none), (std::set<std::uint32_t>{}));
  EXPECT_THAT(text(none), HasSubstr("= 0\n"));
}

TEST(Adjoint, SharesTheCotangentOfAMaximumEvenly) {
  auto reduce = subject("x: f32[4]", "reduce_max(x; axes=[0], keep_dims=0)");
  reduce.inputs = {{1, 3, 3, 2}};
  reduce.cotangents = {{10}};
  EXPECT_EQ(reduce.gradient(0), (Values{0, 5, 5, 0}));
  auto larger = subject("a: f32[3]  b: f32[3]", "max(a, b)");
  larger.inputs = {{1, 2, 3}, {2, 2, 2}};
  larger.cotangents = {{10, 10, 10}};
  EXPECT_EQ(larger.gradient(0), (Values{0, 5, 10}));
  EXPECT_EQ(larger.gradient(1), (Values{10, 5, 0}));
}

TEST(Adjoint, ComputesWhatItMultipliesByOnce) {
  // Maximum, its shift, the reciprocal of the sum, and what comes of them: no element of the result
  // sums over all others.
  const Semantics log_sum_exp =
      subject("x: f32[2, 5]", "reduce_log_sum_exp(x; axes=[1])").derivative(0);
  EXPECT_THAT(text(log_sum_exp), HasSubstr("1/"));
  EXPECT_THAT(to_string({1, {log_sum_exp.stages.back()}, {}, {}}, {}), Not(HasSubstr("Σ")));
}

}  // namespace
}  // namespace soapstone::ops::test
