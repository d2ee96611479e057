// Roofline costs, checked against sums done by hand: flops, bytes, launches, and what is free.
#include <gtest/gtest.h>

#include <thread>

#include "cost/models/cost_model.h"
#include "cost/models/roofline.h"
#include "tests/support/graphs.h"

namespace soapstone::cost {
namespace {

using runtime::Fusion;

// A flop takes 1 us, a byte 1000 us, a launch 1e9 us: the digits of a cost tell them apart.
constexpr RooflineParameters kDigits{.launch_us = 1e9, .flops_per_s = 1e6, .bytes_per_s = 1e3};

double cost(std::string_view text, Fusion fusion = Fusion::kFull) {
  return make_roofline_cost(fusion, kDigits)->graph_cost(graph_of(text)).total_us;
}

double expected(int launches, double bytes, double flops) {
  return launches * 1e9 + bytes * 1e3 + flops;
}

TEST(Roofline, Matmul) {
  EXPECT_EQ(cost(R"(graph g
    a: f32[2, 3]
    b: f32[3, 5]
    y = matmul(a, b)
    return y)"),
            expected(1, 4 * (6 + 15 + 10), 2 * 2 * 3 * 5));
}

TEST(Roofline, PaddingDoesNotLessenAConvolution) {
  EXPECT_EQ(cost(R"(graph g
    x: f32[1, 2, 4, 4]
    w: f32[3, 2, 3, 3]
    y = conv(x, w; pads=[1, 1, 1, 1])
    return y)"),
            expected(1, 4 * (32 + 54 + 48), 2 * 48 * 2 * 9));
}

constexpr std::string_view kFused = R"(graph g
  a: f32[2, 3]
  b: f32[3, 5]
  c: f32[5]
  y = matmul(a, b)
  z = add(y, c)
  r = relu(z)
  return r)";

TEST(Roofline, AnEpilogueMovesNoIntermediates) {
  EXPECT_EQ(cost(kFused, Fusion::kFull), expected(1, 4 * (6 + 15 + 5 + 10), 60 + 10 + 10));
  EXPECT_EQ(cost(kFused, Fusion::kNone),
            expected(3, 4 * (6 + 15 + 10) + 4 * (10 + 5 + 10) + 4 * (10 + 10), 60 + 10 + 10));
}

/// A device that fuses biases alone.
class BiasFusion final : public runtime::FusionRules {
 public:
  bool can_append(const core::Graph&, const runtime::Launch&,
                  const runtime::EpilogueStep& step) const override {
    return step.kind == runtime::EpilogueKind::kBias;
  }
};

TEST(Roofline, TheDeviceSaysWhatItFuses) {
  const BiasFusion rules;
  const auto model = make_roofline_cost(rules, kDigits);
  EXPECT_EQ(model->graph_cost(graph_of(kFused)).total_us,
            expected(2, 4 * (6 + 15 + 5 + 10) + 4 * (10 + 10), 60 + 10 + 10));
  EXPECT_EQ(&model->fusion_rules(), &rules);
}

TEST(Roofline, ConstantExpressionsAreFree) {
  EXPECT_EQ(cost(R"(graph g
    a: f32[2, 3]
    b: f32[3, 2] = {1, 2, 3, 4, 5, 6}
    c: f32[3, 2] = {1, 2, 3, 4, 5, 6}
    w = concat(b, c; axis=1)
    y = matmul(a, w)
    return y)"),
            expected(1, 4 * (6 + 12 + 8), 2 * 2 * 3 * 4));
}

TEST(Roofline, ViewsAreFree) {
  EXPECT_EQ(cost(R"(graph g
    a: f32[2, 3]
    b = reshape(a; shape=[6])
    y = relu(b)
    return y)"),
            expected(1, 4 * (6 + 6), 6));
}

TEST(Roofline, LookingUpRowsDoesNotReadTheTable) {
  EXPECT_EQ(cost(R"(graph g
    table: f32[1000, 4]
    rows: i64[3]
    y = gather(table, rows; axis=0)
    return y)"),
            expected(1, 48 + 24 + 48, 12));
}

TEST(Roofline, ATensorReadTwiceByALaunchIsMovedOnce) {
  EXPECT_EQ(cost(R"(graph g
    a: f32[8]
    y = mul(a, a)
    return y)"),
            expected(1, 4 * (8 + 8), 8));
}

TEST(Roofline, IsAnEstimateAndSaysSo) {
  auto model = make_roofline_cost(Fusion::kFull);
  const GraphCost total = model->graph_cost(graph_of(kFused));
  EXPECT_EQ(total.estimated_share(), 1);
  EXPECT_EQ(total.launches, 1u);
  EXPECT_FALSE(model->needs_quiet_machine());
  EXPECT_EQ(model->description(), "roofline, 15.7 TFLOP/s, 900 GB/s, 5 us a launch");
}

TEST(Roofline, BreakdownAddsUp) {
  auto model = make_roofline_cost(Fusion::kNone);
  const core::Graph graph = graph_of(kFused);
  const auto items = model->breakdown(graph);
  ASSERT_EQ(items.size(), 3u);
  double total_us = 0;
  for (const auto& item : items) total_us += item.cost.cost_us;
  EXPECT_EQ(total_us, model->graph_cost(graph).total_us);
  EXPECT_EQ(items[0].what, "matmul [2, 5]");
  EXPECT_TRUE(items[0].cost.estimated);
}

TEST(Roofline, TheOrderOfLaunchesDoesNotMatter) {
  constexpr std::string_view kOneWay = R"(graph g
    a: f32[7, 3]
    b: f32[3, 11]
    p = exp(a)
    q = tanh(b)
    y = matmul(p, q)
    return y)";
  constexpr std::string_view kOtherWay = R"(graph g
    a: f32[7, 3]
    b: f32[3, 11]
    q = tanh(b)
    p = exp(a)
    y = matmul(p, q)
    return y)";
  auto model = make_roofline_cost(Fusion::kFull, {.launch_us = 0.1, .flops_per_s = 3e9});
  EXPECT_EQ(model->graph_cost(graph_of(kOneWay)).total_us,
            model->graph_cost(graph_of(kOtherWay)).total_us);
}

TEST(Roofline, IsTheSameFromSeveralThreads) {
  auto model = make_roofline_cost(Fusion::kFull);
  const double alone = make_roofline_cost(Fusion::kFull)->graph_cost(graph_of(kFused)).total_us;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const core::Graph graph = graph_of(kFused);
      for (int i = 0; i < 100; ++i) EXPECT_EQ(model->graph_cost(graph).total_us, alone);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Roofline, AnOpaqueNodeCostsItsTraffic) {
  const core::TensorType type{core::DataType::kFloat32, {8}, true};
  core::GraphBuilder builder("g");
  const core::TensorId a = builder.add_input("a", type);
  const auto y = builder.add_node(ops::opaque_schema(),
                                  {{"domain", std::string("mine")},
                                   {"op_type", std::string("Secret")},
                                   {"proto", std::string()}},
                                  {a}, {type});
  builder.set_outputs(y);
  const core::Graph graph = *std::move(builder).finish();
  EXPECT_EQ(make_roofline_cost(Fusion::kFull, kDigits)->graph_cost(graph).total_us,
            expected(1, 64, 0));
}

TEST(RoundedCost, SumsDoNotDependOnTheOrder) {
  double forward = 0, backward = 0;
  for (int i = 1; i <= 1000; ++i) forward += rounded_us(1e4 / i);
  for (int i = 1000; i >= 1; --i) backward += rounded_us(1e4 / i);
  EXPECT_EQ(forward, backward);
}

}  // namespace
}  // namespace soapstone::cost
