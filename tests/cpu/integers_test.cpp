// Factors as integers of 8 bits: sums that must not saturate, scales at the ends of f32, and
// numbers that no integer stands for.
#include <array>
#include <limits>
#include <random>

#include "tests/cpu/rounding.h"

namespace soapstone::cpu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

core::Literal filled(const core::Dims& dims, float value) {
  return core::Literal::floats(
      dims, std::vector(static_cast<std::size_t>(core::element_count(dims)), value));
}
core::LiteralPtr shared(core::Literal literal) {
  return std::make_shared<const core::Literal>(std::move(literal));
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {.op = "conv", .source = {1, 64, 9, 9}, .weights = {48, 64, 3, 3}, .padding = 1},
      {.op = "conv", .source = {1, 64, 9, 9}, .weights = {64, 64, 1, 1}},
      {.op = "conv", .source = {1, 64, 9, 9}, .weights = {64, 16, 3, 3}, .group = 4, .padding = 1},
      {.op = "conv", .source = {1, 3, 20, 20}, .weights = {16, 3, 7, 7}, .padding = 3, .stride = 2},
      {.op = "conv",
       .source = {1, 32, 9, 9},
       .weights = {24, 32, 3, 3},
       .padding = 2,
       .dilation = 2},
      // Windows that read padding alone.
      {.op = "conv", .source = {1, 32, 9, 9}, .weights = {24, 32, 3, 3}, .padding = 4},
      {.op = "conv", .source = {1, 32, 9, 9}, .weights = {32, 4, 3, 3}, .group = 8, .padding = 4},
      {.op = "conv", .source = {2, 64, 17}, .weights = {24, 64, 3}, .padding = 1},
      {.op = "conv", .source = {1, 32, 5, 4, 6}, .weights = {24, 32, 3, 3, 3}, .padding = 1},
      {.op = "matmul", .source = {1, 192}, .weights = {192, 96}},
      {.op = "matmul", .source = {7, 192}, .weights = {192, 96}},
      {.op = "matmul", .source = {2, 40, 192}, .weights = {192, 70}},
      {.op = "matmul", .source = {2, 1}, .weights = {1, 123}},
  };
  return all;
}

/// A convolution or product of small odd sizes, with some of the steps that stand behind one.
Shape random_shape(std::mt19937& random) {
  const auto pick = [&random](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  constexpr std::array kSteps = {"",   "b",  "f",   "r",   "s",   "c",  "bf",
                                 "cf", "br", "brf", "cfr", "bsf", "cs", "csr"};
  const char* const steps = kSteps[static_cast<std::size_t>(pick(0, kSteps.size() - 1))];
  if (pick(0, 3) == 0) {
    const std::int64_t depth = pick(1, 300);
    return {.op = "matmul",
            .source = {pick(1, 3), pick(1, 40), depth},
            .weights = {depth, pick(1, 130)},
            .steps = steps};
  }
  Shape shape{.op = "conv", .source = {}, .weights = {}, .steps = steps};
  shape.group = pick(0, 2) == 0 ? pick(2, 9) : 1;
  shape.padding = pick(0, 3);
  shape.stride = pick(1, 2);
  shape.dilation = pick(1, 2);
  // oneDNN has other kernels for channels in eights.
  const auto channels = [&] { return pick(0, 2) == 0 ? 8 * pick(1, 8) : pick(1, 40); };
  const std::int64_t in = channels(), rank = pick(0, 5) == 0 ? 3 : pick(1, 2);
  shape.source = {pick(1, 2), in * shape.group};
  shape.weights = {channels() * shape.group, in};
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t taps = pick(1, rank == 3 ? 3 : 5), reach = (taps - 1) * shape.dilation + 1;
    shape.weights.push_back(taps);
    const std::int64_t least = std::max<std::int64_t>(1, reach - 2 * shape.padding);
    shape.source.push_back(pick(least, rank == 3 ? 7 : 14));
  }
  return shape;
}

class Integers : public testing::Test {
 protected:
  void SetUp() override {
    made_ = rounding_backend(kInt8);
    if (!made_) GTEST_SKIP() << "no int8 instructions";
  }

  std::vector<double> run(const core::Graph& graph, std::vector<core::Literal> inputs) {
    auto outputs = runtime::test::executable(graph, *made_).run(std::move(inputs));
    EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
    return outputs ? (*outputs)[0].to_doubles() : std::vector<double>();
  }

  /// The largest |found - wanted| over the largest |wanted|, with rounded factors.
  double error_of(const Shape& shape, const core::LiteralPtr& weights,
                  const core::Literal& source) {
    const core::Graph graph = graph_of(shape, weights);
    if (!rounds(graph, kInt8, *made_)) return 0;
    const std::vector<double> found = run(graph, {source});
    const std::vector<double> wanted = runtime::test::expected(graph, {source})[0];
    double most = 0, error = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      most = std::max(most, std::fabs(wanted[i]));
      error = std::max(error, std::isnan(found[i]) ? HUGE_VAL : std::fabs(found[i] - wanted[i]));
    }
    return most == 0 ? error : error / most;
  }

  std::unique_ptr<runtime::Backend> made_;
};

/// The largest integers of both factors, with the same sign everywhere and with signs in turn: the
/// scales stand for these numbers as they are, so what differs was lost in a sum.
TEST_F(Integers, DoNotSaturate) {
  for (const Shape& shape : shapes()) {
    for (const float w : {1.0F, -1.0F}) {
      for (const float x : {1.0F, -1.0F})
        EXPECT_LT(error_of(shape, shared(filled(shape.weights, w)), filled(shape.source, x)), 1e-5)
            << shape.op << " " << w << " " << x;
    }
    const core::LiteralPtr signs = shared(each(
        filled(shape.weights, 1), [](double, std::size_t i) { return i % 3 == 0 ? -1.0 : 1.0; }));
    EXPECT_LT(error_of(shape, signs, filled(shape.source, 1)), 1e-5) << shape.op;
  }
}

/// One offset for all elements: ranges that are not around zero, and padding, which is exactly
/// zero.
TEST_F(Integers, HaveTheirOwnRange) {
  for (const Shape& shape : shapes()) {
    const core::Literal random = runtime::random_inputs(graph_of(shape), 2)[0];
    for (const double offset : {-3.0, 0.4, 5.0}) {
      const auto source = each(random, [&](double x, std::size_t) { return x + offset; });
      expect_within_bound(shape, numbers(shape.weights), source, kInt8, *made_);
    }
  }
}

/// Of each channel its own: large weights of one do not make those of others coarse.
TEST_F(Integers, HaveAScaleForEachChannel) {
  for (const Shape& shape : shapes()) {
    const bool first = std::string_view(shape.op) == "conv";
    const auto channels = static_cast<std::size_t>(first ? shape.weights[0] : shape.weights.back());
    const core::LiteralPtr even = numbers(shape.weights);
    const std::size_t inner = even->to_doubles().size() / channels;
    const auto weights = shared(each(*even, [&](double w, std::size_t i) {
      return std::ldexp(w, static_cast<int>((first ? i / inner : i % channels) % 40));
    }));
    const core::Literal source = runtime::random_inputs(graph_of(shape), 2)[0];
    expect_within_bound(shape, weights, source, kInt8, *made_);
  }
}

TEST_F(Integers, ReachToTheEndsOfF32) {
  for (const Shape& shape : shapes()) {
    const core::Literal source = runtime::random_inputs(graph_of(shape), 3)[0];
    for (const double size : {0x1p-100, 0x1p-60, 0x1p60, 0x1p100}) {
      const core::Literal scaled = each(source, [&](double x, std::size_t) { return x * size; });
      expect_within_bound(shape, numbers(shape.weights), scaled, kInt8, *made_);
      const auto opposite =
          each(*numbers(shape.weights), [&](double w, std::size_t) { return w * 0x1p60 / size; });
      if (size > 0x1p-60 && size < 0x1p100)
        expect_within_bound(shape, shared(opposite), scaled, kInt8, *made_);
    }
    // The range is twice what a float holds.
    const core::Literal widest = each(source, [](double, std::size_t i) {
      return i % 3 == 0 ? std::numeric_limits<float>::max() : std::numeric_limits<float>::lowest();
    });
    const auto small = shared(filled(shape.weights, 0x1p-40F));
    // Half of a step each, in a sum that is a third of what it could be.
    EXPECT_LT(error_of(shape, small, widest), 3.01 / 255) << shape.op;
  }
}

/// Below the smallest normal number a source is as coarse as that.
TEST_F(Integers, MayBeZeroForWhatIsDenormal) {
  for (const Shape& shape : shapes()) {
    const core::LiteralPtr ones = shared(filled(shape.weights, 1));
    const core::Graph graph = graph_of(shape, ones);
    if (!rounds(graph, kInt8, *made_)) continue;
    const double terms = static_cast<double>(core::element_count(shape.weights));
    for (const double y : run(graph, {filled(shape.source, 0x1p-140F)}))
      ASSERT_TRUE(y >= 0 && y <= terms * 0x1p-126) << y;
  }
}

/// The result may be written where a residual lies: nothing but time depends on it.
TEST_F(Integers, MayOverwriteAResidual) {
  for (const bool is_product : {true, false}) {
    const core::Dims dims = is_product ? core::Dims{7, 96} : core::Dims{1, 96, 7, 7};
    const auto graph = [&](bool apart) {
      Sketch sketch;
      const core::TensorId x = sketch.input("x", dims);
      const core::TensorId w =
          sketch.constant(is_product ? core::Dims{96, 96} : core::Dims{96, 96, 1, 1});
      const core::TensorId r = apart ? sketch.input("r", dims) : sketch.add("tanh", {x});
      const core::TensorId y = sketch.add(is_product ? "matmul" : "conv", {x, w});
      return sketch.finish(sketch.add("add", {y, r}));
    };
    Sketch sketch;
    const core::Graph residual = sketch.finish(sketch.add("tanh", {sketch.input("x", dims)}));
    const core::Literal x = runtime::random_inputs(residual, 3)[0];
    const auto tanh = runtime::test::executable(residual, *made_).run(std::vector{x});
    ASSERT_TRUE(tanh.ok());
    ASSERT_EQ(round_all(graph(false), *made_), 1U);
    ASSERT_EQ(round_all(graph(true), *made_), 1U);
    EXPECT_EQ(run(graph(false), {x}), run(graph(true), {x, (*tanh)[0]}));
  }
}

TEST_F(Integers, AreRightInShapesThatNobodyChose) {
  // The same shapes each time; others with --gtest_shuffle --gtest_random_seed=N.
  const int seed = 1 + testing::UnitTest::GetInstance()->random_seed();
  std::mt19937 random(static_cast<unsigned>(seed));
  std::size_t rounded = 0;
  for (int k = 0; k < 240; ++k) {
    const Shape shape = random_shape(random);
    const core::Graph graph = graph_of(shape);
    if (round_all(graph, *made_) == 0) continue;
    ++rounded;
    const double offset = k % 3 - 1;
    const auto source = each(runtime::random_inputs(graph, 1)[0],
                             [&](double x, std::size_t) { return x + offset; });
    expect_within_bound(shape, numbers(shape.weights), source, kInt8, *made_);
  }
  EXPECT_GT(rounded, 80U);
}

/// Weights whose sums, which the zero point is multiplied by, oneDNN forgot in one of its forms.
TEST_F(Integers, HaveAZeroPointInGroups) {
  const Shape shape = {"conv", {1, 192, 8}, {45, 64, 1}, true, 3};
  const core::Graph graph = graph_of(shape);
  if (round_all(graph, *made_) == 0) GTEST_SKIP() << "only with VNNI";
  expect_within_bound(shape, numbers(shape.weights), runtime::random_inputs(graph, 1)[0], kInt8,
                      *made_);
}

TEST_F(Integers, MayAllBeZero) {
  for (Shape shape : shapes()) {
    shape.steps = "b";
    EXPECT_LT(error_of(shape, numbers(shape.weights), filled(shape.source, 0)), 1e-6);
    EXPECT_LT(error_of(shape, shared(filled(shape.weights, 0)), filled(shape.source, 2)), 1e-6);
  }
}

/// Where a source has no integers the exact kernel runs: element by element the same.
TEST_F(Integers, DoNotHideWhatIsNotFinite) {
  for (Shape shape : shapes()) {
    for (const char* steps : {"", "bf"}) {
      shape.steps = steps;
      const core::Graph graph = graph_of(shape);
      const core::Literal random = runtime::random_inputs(graph, 4)[0];
      const std::size_t middle = random.to_doubles().size() / 2;
      for (const float special : {kNaN, -kNaN, kInfinity, -kInfinity}) {
        const core::Literal source =
            each(random, [&](double x, std::size_t i) { return i == middle ? special : x; });
        auto exact = runtime::test::executable(graph, backend()).run(std::vector{source});
        ASSERT_TRUE(exact.ok());
        if (!rounds(graph, kInt8, *made_)) continue;
        const std::vector<double> wanted = (*exact)[0].to_doubles(), found = run(graph, {source});
        for (std::size_t i = 0; i < wanted.size(); ++i)
          ASSERT_TRUE(found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i])))
              << core::print(graph) << found[i] << " " << wanted[i];
      }
      if (!rounds(graph, kInt8, *made_)) continue;
      EXPECT_GT(error_of(shape, numbers(shape.weights), random), 1e-5) << "it goes on rounding";
    }
  }
}

TEST_F(Integers, AreNotOfferedForWeightsWithoutThem) {
  const Shape shape = {"matmul", {7, 192}, {192, 96}};
  for (const float special : {kNaN, kInfinity, -kInfinity, 0x1p120F, 0x1p-120F}) {
    const auto weights = shared(each(
        filled(shape.weights, 0), [&](double, std::size_t i) { return i == 500 ? special : 0; }));
    EXPECT_EQ(round_all(graph_of(shape, weights), *made_), 0U) << special;
  }
  EXPECT_EQ(round_all(graph_of({"matmul", {7, 192}, {192, 96}, false}), *made_), 0U);
  EXPECT_EQ(round_all(graph_of({"matmul", {3, 16, 32}, {3, 32, 24}}), *made_), 0U);
  EXPECT_EQ(round_all(graph_of({"conv", {1, 16, 8, 8}, {32, 16, 3, 3}, false}), *made_), 0U);
  EXPECT_EQ(round_all(graph_of({"conv_transpose", {1, 16, 6, 6}, {16, 24, 3, 3}}), *made_), 0U);
  // oneDNN's kernels for one channel in each group are wrong where groups are few.
  EXPECT_EQ(round_all(graph_of({"conv", {1, 6, 8, 8}, {6, 1, 3, 3}, true, 6}), *made_), 0U);
  // So is what it has on AVX-512 for groups of odd sizes; on AVX2 it has nothing.
  EXPECT_EQ(round_all(graph_of({"conv", {2, 90, 13}, {315, 10, 2}, true, 9, "bf", 2}), *made_), 0U);
  // A sum of more products than 32 bits hold.
  EXPECT_EQ(round_all(graph_of({"matmul", {1, 140'000}, {140'000, 2}}), *made_), 0U);
  EXPECT_EQ(round_all(graph_of({"matmul", {0, 192}, {192, 96}}), *made_), 0U);
  EXPECT_EQ(round_all(graph_of({"matmul", {7, 0}, {0, 96}}), *made_), 0U);
  EXPECT_EQ(round_all(graph_of(shape), *made_), 1U);
}

}  // namespace
}  // namespace soapstone::cpu::test
