#include "search/equivalence.h"

#include "search/cut.h"
#include "search/optimize.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

core::Result<EquivalenceReport> check(const core::Graph& a, const core::Graph& b,
                                      EquivalenceOptions options = {}) {
  const auto backend = runtime::make_reference_backend();
  return check_equivalence(a, b, *backend, options, core::silent(), core::StopToken{});
}

const char* const kSum = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = add(x, z)\n  return y\n";
const char* const kSumSwapped = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = add(z, x)\n  return y\n";
const char* const kDifference = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = sub(x, z)\n  return y\n";

TEST(Equivalence, EqualGraphsAreEqual) {
  const auto report = check(graph_of(kSum), graph_of(kSumSwapped));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->equal);
  EXPECT_EQ(report->samples, 8);
}

TEST(Equivalence, UnequalGraphsAreNot) {
  const auto report = check(graph_of(kSum), graph_of(kDifference));
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->equal);
  EXPECT_GT(report->max_rel_error(), 0.1);
}

TEST(Equivalence, OneWrongElementAmongThousandsIsSeen) {
  const auto a = graph_of("graph g\n  x: f32[4096]\n  y = relu(x)\n  return y\n");
  const auto b = graph_of(R"(graph g
  x: f32[4096]
  r = relu(x)
  h, t = split(r; axis=0, sizes=[4095, 1])
  n = neg(t)
  y = concat(h, n; axis=0)
  return y
)");
  const auto report = check(a, b);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->equal);
}

TEST(Equivalence, InterfacesMustAgree) {
  const auto report =
      check(graph_of(kSum), graph_of("graph g\n  x: f32[4]\n  y = relu(x)\n  return y\n"));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, core::ErrorCode::kInvalidInput);
}

TEST(Equivalence, OwnInputsMustFit) {
  EquivalenceOptions options;
  options.inputs = {{core::Literal::scalar(1)}};
  const auto report = check(graph_of(kSum), graph_of(kSum), options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, core::ErrorCode::kInvalidInput);
}

TEST(SampleInputs, IndicesStayWithinTheData) {
  const auto graph = graph_of(R"(graph g
  data: f32[5, 2]
  ids: i64[64]
  y = gather(data, ids; axis=0)
  return y
)");
  const auto ids = *sample_inputs(graph, SampleKind::kNormal, 3)[1].to_ints();
  EXPECT_EQ(*std::min_element(ids.begin(), ids.end()), 0);
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 4);
}

TEST(Cut, OpaqueResultsBecomeInputsAndOperandsOutputs) {
  core::GraphBuilder builder;
  const core::TensorType type{core::DataType::kFloat32, {4}, true};
  const auto x = builder.add_input("x", type);
  const auto r = ops::append(builder, "relu", {x});
  const auto o = builder.add_node(ops::opaque_schema(), {}, {(*r)[0]}, {type}, "mystery");
  const auto y = ops::append(builder, "neg", {o[0]});
  builder.set_outputs({(*y)[0]});
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto cut = cut_at_opaque(*graph);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->cut_nodes, 1);
  EXPECT_EQ(cut->graph.inputs().size(), 2U);
  EXPECT_EQ(cut->graph.outputs().size(), 2U);
  EXPECT_EQ(cut->output_names[1], "operand of mystery");
}

class Optimize : public ::testing::Test {
 protected:
  core::Result<OptimizeReport> run(const core::Graph& graph, const char* rules) {
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    const auto backend = runtime::make_reference_backend();
    OptimizeOptions options;
    options.measure = false;
    options.search.time_s = 0;
    options.search.budget = 20;
    const rules::RuleSet none({}), set = rules_of(rules);
    verifier::Admission baseline(none), admission(set, {.allow_unproved = true});
    return optimize(graph, baseline, admission, *cost, *backend, options, core::silent(),
                    core::StopToken{});
  }
};

TEST_F(Optimize, ReportsTheImprovement) {
  const auto report = run(parallel_matmuls(3), kMergeMatmuls);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->outcome, Outcome::kImproved);
  EXPECT_LT(report->cost_after.total_us, report->cost_before.total_us);
  ASSERT_TRUE(report->equivalence);
  EXPECT_TRUE(report->equivalence->equal);
  ASSERT_EQ(report->rules_applied.size(), 1U);
}

TEST_F(Optimize, NamesTheWrongRule) {
  const auto graph = graph_of(R"(graph g
  x: f32[4, 8]
  a: f32[8, 8]
  b: f32[8, 8]
  y = matmul(x, a)
  z = matmul(x, b)
  s = add(y, z)
  return s
)");
  const auto report = run(graph, kWrongRule);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->outcome, Outcome::kNotEquivalent);
  EXPECT_NE(report->offending_rule.find("drop_second_matmul"), std::string::npos);
}

TEST_F(Optimize, KeepsTheOriginalWithoutAGain) {
  const auto graph = graph_of(kSum);
  const auto report = run(graph, kMergeMatmuls);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report->graph.hash(), graph.hash());
}

}  // namespace
}  // namespace soapstone::search
