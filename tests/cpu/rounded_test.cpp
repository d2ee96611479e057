// Rounded factors: as far off as the format implies and no farther, and only where somebody chose
// them.
#include "tests/cpu/rounding.h"

namespace soapstone::cpu::test {
namespace {

using runtime::Fusion;

class RoundedFactors : public testing::TestWithParam<Rounding> {
 protected:
  void SetUp() override {
    made_ = rounding_backend(GetParam());
    if (!made_) GTEST_SKIP() << "no " << GetParam().name << " instructions";
  }
  std::unique_ptr<runtime::Backend> made_;
};

TEST_P(RoundedFactors, AreAsFarOffAsTheFormatImplies) {
  for (const int threads : {1, 2}) {
    const auto made = rounding_backend(GetParam(), threads);
    const std::vector<Shape> shapes = {
        {"conv", {1, 32, 9, 9}, {48, 32, 3, 3}, true, 1, "bfr"},
        {"conv", {1, 32, 9, 9}, {48, 32, 3, 3}, true, 1, "brf", 1},
        {"conv", {2, 64, 7, 7}, {64, 64, 1, 1}, true, 1, "f"},
        {"conv", {1, 32, 9, 9}, {64, 8, 3, 3}, true, 4, "b", 1},
        {"conv", {2, 32, 17}, {24, 32, 3}, true, 1, "b", 1},
        {"matmul", {1, 96}, {96, 200}, true, 1, "bf"},
        {"matmul", {2, 5, 96}, {96, 64}, true, 1, "br"},
        {"matmul", {301, 512}, {512, 16}},
    };
    for (const Shape& shape : shapes) expect_within_bound(shape, GetParam(), *made);
  }
}

/// What is not measured is exact, and what is small stays with the usual kernel's name.
TEST_P(RoundedFactors, RunOnlyWhereTheyWereChosen) {
  const core::Graph graph = graph_of({"conv", {1, 32, 9, 9}, {48, 32, 3, 3}, true, 1, "f"});
  EXPECT_EQ(implementation(graph, *made_), implementation(graph, backend()));
  runtime::test::expect_right(graph, *made_, Fusion::kFull);
  EXPECT_EQ(round_all(graph, *made_), 1U);
  EXPECT_NE(implementation(graph, *made_), implementation(graph, backend()));
}

/// A backend of full precision neither offers them nor can be told to round.
TEST_P(RoundedFactors, AreNoWayOfABackendInFullPrecision) {
  const core::Graph graph = graph_of({"matmul", {8, 96}, {96, 64}});
  const auto exact = *make_cpu_backend();
  EXPECT_EQ(round_all(graph, *exact), 0U);
  EXPECT_EQ(round_all(graph, *made_), 1U);
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, *exact, Fusion::kFull);
  exact->choose(runtime::launch_signature(graph, plan.launches[0], plan.layouts[0]),
                implementation(graph, *made_));
  EXPECT_FALSE(implementation(graph, *exact).starts_with(GetParam().name));
  EXPECT_NE(made_->device().key(), exact->device().key());
  EXPECT_NE(made_->device().key().find(", " + GetParam().name + ";"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Of, RoundedFactors, testing::Values(kBf16, kInt8),
                         [](const auto& test) { return test.param.name; });

/// bf16 needs no scales, so it takes weights that come with each run, too.
TEST(RoundedToBf16, AreAlsoWeightsThatAreNotKnown) {
  const auto made = rounding_backend(kBf16);
  if (!made) GTEST_SKIP() << "no bf16 instructions";
  const std::vector<Shape> shapes = {
      {"conv", {1, 16, 8, 8}, {32, 16, 3, 3}, false},
      {"conv_transpose", {1, 16, 6, 6}, {16, 24, 3, 3}, true, 1, "f"},
      {"matmul", {3, 16, 32}, {3, 32, 24}, false},
  };
  for (const Shape& shape : shapes) expect_within_bound(shape, kBf16, *made);
}

TEST(RoundedToWhat, IsBf16OrInt8) {
  const auto made = make_cpu_backend({.precision = core::DataType::kFloat16});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, core::ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace soapstone::cpu::test
