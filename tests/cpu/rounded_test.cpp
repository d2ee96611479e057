// Factors rounded to bf16: as far off as the format implies and no farther, and only where somebody
// chose it.
#include "tests/cpu/sketch.h"

namespace soapstone::cpu::test {
namespace {

using core::TensorId;
using runtime::Fusion;

/// bf16 has 8 bits: rounding to it changes a number by at most this share of it.
constexpr double kUnit = 1.0 / 256;

/// Null where the processor has no such instructions.
std::unique_ptr<runtime::Backend> rounding_backend(int threads = 1) {
  auto made = make_cpu_backend({.threads = threads, .precision = core::DataType::kBFloat16});
  if (made) return *std::move(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(made.error().message.find("no bf16 instructions"), std::string::npos);
  return nullptr;
}

/// Chooses rounded factors for every launch that may have them; returns for how many.
std::size_t round_all(const core::Graph& graph, runtime::Backend& made) {
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, made, Fusion::kFull);
  std::size_t rounded = 0;
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    for (const std::string& name : made.candidates(graph, plan.launches[k], plan.layouts[k])) {
      if (!name.starts_with("bf16 factors")) continue;
      made.choose(runtime::launch_signature(graph, plan.launches[k], plan.layouts[k]), name);
      ++rounded;
    }
  }
  return rounded;
}

core::LiteralPtr absolute(const core::Literal& literal) {
  std::vector<float> values;
  for (const double value : literal.to_doubles())
    values.push_back(static_cast<float>(std::fabs(value)));
  return std::make_shared<const core::Literal>(
      core::Literal::floats(core::Dims(literal.dims().begin(), literal.dims().end()), values));
}

struct Shape {
  const char* op;
  core::Dims source, weights;
  bool known;  ///< The weights are a constant.
  std::int64_t group = 1;
  const char* steps = "";
};

/// The contraction with its steps. `magnitudes`: the sum of |source · weights| without any steps.
core::Graph graph_of(const Shape& shape, bool magnitudes) {
  Sketch sketch;
  const TensorId x = sketch.input("x", shape.source);
  const core::LiteralPtr values = numbers(shape.weights);
  const TensorId w = !shape.known ? sketch.input("w", shape.weights)
                     : magnitudes ? sketch.constant(absolute(*values))
                                  : sketch.constant(values);
  core::Attributes attributes;
  if (shape.group > 1) attributes.set("group", shape.group);
  TensorId y = sketch.add(shape.op, {x, w}, attributes);
  const core::Dims dims = runtime::dims_of(sketch.type(y));
  for (const char step : std::string(magnitudes ? "" : shape.steps)) {
    core::Dims channels(dims.size(), 1);
    const std::size_t axis = std::string(shape.op) == "matmul" ? dims.size() - 1 : 1;
    channels[axis] = dims[axis];
    if (step == 'b') y = sketch.add("add", {y, sketch.constant(numbers(channels))});
    if (step == 'f') y = sketch.add("relu", {y});
    if (step == 'r') y = sketch.add("add", {y, sketch.input("r", dims)});
  }
  return sketch.finish(y);
}

/// Each product of two rounded factors is off by at most 2u + u² of itself; steps behind the sum
/// make no difference larger.
void expect_within_bound(const Shape& shape, runtime::Backend& made) {
  const core::Graph graph = graph_of(shape, false);
  ASSERT_EQ(round_all(graph, made), 1U) << core::print(graph);
  EXPECT_TRUE(implementation(graph, made).starts_with("bf16 factors"));
  const std::vector<core::Literal> inputs = runtime::random_inputs(graph, 1);
  std::vector<core::Literal> magnitudes;
  for (std::size_t k = 0; k < (shape.known ? 1U : 2U); ++k)
    magnitudes.push_back(*absolute(inputs[k]));
  auto program = runtime::test::executable(graph, made);
  const auto outputs = program.run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const std::vector<double> found = (*outputs)[0].to_doubles();
  const std::vector<double> wanted = runtime::test::expected(graph, inputs)[0];
  const std::vector<double> sums = runtime::test::expected(graph_of(shape, true), magnitudes)[0];
  double largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double error = std::fabs(found[i] - wanted[i]);
    ASSERT_LE(error, (2 * kUnit + kUnit * kUnit + 1e-5) * sums[i] + 1e-5) << core::print(graph);
    largest = std::max(largest, error / sums[i]);
  }
  EXPECT_GT(largest, 1e-5) << "nothing was rounded: " << core::print(graph);
}

TEST(RoundedFactors, AreAsFarOffAsTheFormatImplies) {
  for (const int threads : {1, 2}) {
    const auto made = rounding_backend(threads);
    if (!made) GTEST_SKIP() << "no bf16 instructions";
    const std::vector<Shape> shapes = {
        {"conv", {1, 32, 9, 9}, {48, 32, 3, 3}, true, 1, "bfr"},
        {"conv", {2, 64, 7, 7}, {64, 64, 1, 1}, true, 1, "f"},
        {"conv", {1, 32, 9, 9}, {64, 8, 3, 3}, true, 4, "b"},
        {"conv", {1, 16, 8, 8}, {32, 16, 3, 3}, false},
        {"conv_transpose", {1, 16, 6, 6}, {16, 24, 3, 3}, true, 1, "f"},
        {"matmul", {1, 96}, {96, 200}, true, 1, "bf"},
        {"matmul", {2, 5, 96}, {96, 64}, true, 1, "br"},
        {"matmul", {3, 16, 32}, {3, 32, 24}, false},
    };
    for (const Shape& shape : shapes) expect_within_bound(shape, *made);
  }
}

/// What is not measured is exact, and what is small stays with the usual kernel's name.
TEST(RoundedFactors, RunOnlyWhereTheyWereChosen) {
  const auto made = rounding_backend();
  if (!made) GTEST_SKIP() << "no bf16 instructions";
  const core::Graph graph = graph_of({"conv", {1, 32, 9, 9}, {48, 32, 3, 3}, true, 1, "f"}, false);
  EXPECT_EQ(implementation(graph, *made), implementation(graph, backend()));
  runtime::test::expect_right(graph, *made, Fusion::kFull);
  EXPECT_EQ(round_all(graph, *made), 1U);
  EXPECT_NE(implementation(graph, *made), implementation(graph, backend()));
}

/// A backend of full precision neither offers them nor can be told to round.
TEST(RoundedFactors, AreNoWayOfABackendInFullPrecision) {
  const auto made = rounding_backend();
  if (!made) GTEST_SKIP() << "no bf16 instructions";
  const core::Graph graph = graph_of({"matmul", {8, 96}, {96, 64}, true}, false);
  const auto exact = *make_cpu_backend();
  EXPECT_EQ(round_all(graph, *exact), 0U);
  EXPECT_EQ(round_all(graph, *made), 1U);
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, *exact, Fusion::kFull);
  exact->choose(runtime::launch_signature(graph, plan.launches[0], plan.layouts[0]),
                implementation(graph, *made));
  EXPECT_FALSE(implementation(graph, *exact).starts_with("bf16"));
  EXPECT_NE(made->device().key(), exact->device().key());
}

TEST(RoundedFactors, AreOfBf16Alone) {
  const auto made = make_cpu_backend({.precision = core::DataType::kFloat16});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, core::ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace soapstone::cpu::test
