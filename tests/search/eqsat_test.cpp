// The second strategy: what saturation finds is equal and cheaper, and bounds hold.
#include "search/eqsat.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "ops/evaluate.h"
#include "rules/sample.h"
#include "search/eqsat_bound.h"
#include "search/eqsat_selection.h"
#include "tests/search/search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using rules::ClassId;
using rules::ENodeId;

constexpr std::string_view kAttention = R"(graph attention
  x: f32[16, 32]
  wq: f32[32, 32]
  wk: f32[32, 32]
  wv: f32[32, 32]
  q = matmul(x, wq)
  k = matmul(x, wk)
  v = matmul(x, wv)
  kt = transpose(k; perm=[1, 0])
  s = matmul(q, kt)
  p = softmax(s; axis=1)
  y = matmul(p, v)
  return y)";

constexpr std::string_view kBranches = R"(graph branches
  x: f32[1, 8, 6, 6]
  a: f32[4, 8, 1, 1]
  b: f32[4, 8, 3, 3]
  c: f32[8, 4, 1, 1]
  u = conv(x, a)
  v = conv(x, b; pads=[1, 1, 1, 1])
  r = relu(u)
  s = relu(v)
  t = add(r, s)
  y = conv(t, c)
  z = add(y, x)
  return z, r)";

constexpr std::string_view kCell = R"(graph cell
  x: f32[2, 16]
  h: f32[2, 16]
  w1: f32[16, 16]
  w2: f32[16, 16]
  u1: f32[16, 16]
  u2: f32[16, 16]
  a1 = matmul(x, w1)
  b1 = matmul(h, u1)
  c1 = add(a1, b1)
  d1 = tanh(c1)
  a2 = matmul(x, w2)
  b2 = matmul(h, u2)
  c2 = add(a2, b2)
  d2 = sigmoid(c2)
  e = mul(d1, d2)
  return e)";

const rules::RuleSet& shipped_rules() {
  static const rules::RuleSet kRules = [] {
    const std::filesystem::path folder = std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules";
    auto file = rules::read_rule_folder(folder);
    CHECK(file.ok(), file.error().to_string());
    return rules::RuleSet(std::move(file->rules));
  }();
  return kRules;
}

/// All inputs but `x` and `h` become constants.
Graph with_weights(std::string_view text) {
  const Graph graph = graph_of(std::string(text));
  core::GraphBuilder builder(graph);
  float seed = 1;
  for (core::TensorId id : graph.inputs()) {
    const core::Tensor& input = graph.tensor(id);
    if (input.name == "x" || input.name == "h") continue;
    const auto dims = *core::concrete(input.type.shape);
    const auto values = weights(core::element_count(dims), 1, seed++);
    builder.replace_uses(
        id, builder.add_constant(std::make_shared<const core::Literal>(values->reshaped(dims))));
  }
  return *std::move(builder).finish();
}

EqsatOptions options_with(std::size_t nodes, std::uint64_t exact_steps = 20'000) {
  EqsatOptions options;
  options.saturation.nodes = nodes;
  options.time_s = 0;
  options.exact_steps = exact_steps;
  return options;
}

EqsatResult run(const Graph& graph, const rules::RuleSet& rules, const EqsatOptions& options,
                bool allow_unproved = false) {
  verifier::Admission admission(rules, {.allow_unproved = allow_unproved});
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  return eqsat(graph, admission, *cost, options, core::silent(), core::StopToken());
}

void expect_equal(const Graph& a, const Graph& b) {
  rules::Random random(11);
  std::vector<std::vector<double>> inputs;
  for (core::TensorId id : a.inputs()) {
    const auto dims = *core::concrete(a.tensor(id).type.shape);
    inputs.emplace_back(static_cast<std::size_t>(core::element_count(dims)));
    for (double& v : inputs.back()) v = 1e-3 * static_cast<double>(random.between(-1000, 1000));
  }
  ASSERT_EQ(a.outputs().size(), b.outputs().size());
  const auto in_a = ops::evaluate_graph<double>(a, inputs);
  const auto in_b = ops::evaluate_graph<double>(b, inputs);
  ASSERT_TRUE(in_a.ok() && in_b.ok());
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    EXPECT_EQ(a.tensor(a.outputs()[k]).name, b.tensor(b.outputs()[k]).name);
    EXPECT_THAT((*in_b)[k], testing::Pointwise(testing::DoubleNear(1e-9), (*in_a)[k]));
  }
}

TEST(Eqsat, MergesWhatPaysOnlyTogether) {
  const Graph graph = with_weights(kAttention);
  const EqsatResult result = run(graph, shipped_rules(), options_with(800));
  ASSERT_TRUE(result.graph);
  EXPECT_LT(result.cost_after.total_us, result.cost_before.total_us);
  EXPECT_LE(result.bound_us, result.cost_after.total_us);
  expect_equal(graph, *result.graph);
  ASSERT_FALSE(result.rules.empty());
}

TEST(Eqsat, AllResultsOfAMergeAreTakenAtOnce) {
  for (const std::size_t count : {2, 3}) {
    const Graph graph = parallel_matmuls(count, 64);
    const rules::RuleSet rules = rules_of(kMergeMatmuls);
    const EqsatResult result = run(graph, rules, options_with(2000), true);
    ASSERT_TRUE(result.graph) << count;
    // One product; splits of one row are views.
    EXPECT_EQ(result.cost_after.launches, 1u);
    EXPECT_TRUE(result.optimal);
    EXPECT_EQ(result.bound_us, result.cost_after.total_us);
    EXPECT_EQ(result.rules.at(0).base_rule, "merge_matmuls");
    expect_equal(graph, *result.graph);
  }
}

TEST(Eqsat, ResultsAreEqual) {
  for (const std::string_view text : {kAttention, kBranches, kCell}) {
    const Graph graph = with_weights(text);
    const EqsatResult result = run(graph, shipped_rules(), options_with(600, 2'000));
    EXPECT_LE(result.cost_after.total_us, result.cost_before.total_us);
    EXPECT_LE(result.bound_us, result.cost_after.total_us);
    EXPECT_GE(result.gap(), 0);
    if (result.graph) expect_equal(graph, *result.graph);
  }
}

TEST(Eqsat, IsDeterministic) {
  const Graph graph = with_weights(kAttention);
  const EqsatResult a = run(graph, shipped_rules(), options_with(600, 2'000));
  const EqsatResult b = run(graph, shipped_rules(), options_with(600, 2'000));
  ASSERT_TRUE(a.graph && b.graph);
  EXPECT_EQ(core::print(*a.graph), core::print(*b.graph));
  EXPECT_EQ(a.bound_us, b.bound_us);
}

TEST(Eqsat, WhatIsNotAdmittedIsNotUsed) {
  const Graph graph =
      graph_of("graph g\n  x: f32[4, 4]\n  a: f32[4, 4]\n  b: f32[4, 4]\n"
               "  y = matmul(x, a)\n  z = matmul(x, b)\n  s = add(y, z)\n  return s");
  const rules::RuleSet rules = rules_of(kWrongRule);
  EXPECT_FALSE(run(graph, rules, options_with(500)).graph);
}

TEST(Eqsat, AnOutputThatBecomesAnInputKeepsItsName) {
  const Graph graph = graph_of("graph g\n  x: f32[4, 4]\n  t = neg(x)\n  y = neg(t)\n  u = neg(y)\n"
                               "  v = neg(u)\n  return y, v");
  const rules::RuleSet rules = rules_of("rule twice\n  x: [m, n]\n  source\n    t = neg(x)\n"
                                        "    y = neg(t)\n  target\n    y = x\n");
  const EqsatResult result = run(graph, rules, options_with(500), true);
  ASSERT_TRUE(result.graph);
  EXPECT_EQ(result.cost_after.total_us, 0);
  EXPECT_TRUE(result.optimal);
  expect_equal(graph, *result.graph);
}

TEST(Eqsat, StoppedItReturnsWhatItHas) {
  core::StopToken stop;
  stop.request_stop();
  verifier::Admission admission(shipped_rules());
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  const Graph graph = graph_of(std::string(kAttention));
  const EqsatResult result =
      eqsat(graph, admission, *cost, options_with(600), core::silent(), stop);
  EXPECT_EQ(result.saturation.end, rules::SaturationEnd::kStopped);
  EXPECT_EQ(result.cost_after.total_us, result.cost_before.total_us);
}

/// An e-graph of a model, saturated a little.
struct Saturated {
  rules::EGraph graph;
  Graph model;
  EqsatProblem problem{graph, model, {}, {}};

  Saturated(std::string_view text, std::size_t nodes) : model(with_weights(text)) {
    for (core::TensorId id : model.inputs())
      problem.inputs.push_back(graph.add_input(static_cast<std::uint32_t>(problem.inputs.size()),
                                               model.tensor(id).type));
    const auto classes = graph.add_graph(model, problem.inputs);
    for (core::TensorId id : model.outputs()) problem.outputs.push_back(classes[id.index()]);
    rules::SaturationLimits limits;
    limits.nodes = nodes;
    const rules::SaturationRules rules(shipped_rules().rules());
    rules::saturate(graph, rules, limits, nullptr, core::StopToken());
  }
};

TEST(EqsatBound, NoSelectionIsBelowIt) {
  for (const std::string_view text : {kAttention, kBranches, kCell}) {
    const Saturated saturated(text, 300);
    const auto model = cost::make_roofline_cost(runtime::Fusion::kFull);
    const ENodeCosts costs(saturated.graph, *model);
    const double bound = lower_bound(saturated.problem, costs);
    EXPECT_GT(bound, 0);
    rules::Random random(1);
    std::size_t looked_at = 0;
    for (int attempt = 0; attempt < 3000; ++attempt) {
      Selection selection =
          greedy_selection(saturated.problem, costs, given_selection(saturated.problem));
      for (std::size_t k = 0; k < selection.size(); ++k) {
        if (!selection[k].valid() || random.between(0, 3) > 0) continue;
        const auto& nodes = saturated.graph[ClassId(k)].nodes;
        selection[k] = nodes[random.next() % nodes.size()];
      }
      const auto needed = needed_classes(saturated.problem, selection);
      if (!needed) continue;
      double sum = 0;
      std::set<ENodeId> nodes;
      for (ClassId id : *needed) nodes.insert(selection[id.index()]);
      for (ENodeId id : nodes) sum += costs.at_least(id);
      const double cost = model->graph_cost(to_graph(saturated.problem, selection)).total_us;
      EXPECT_LE(bound, cost + 1e-6);
      EXPECT_LE(sum, cost + 1e-6);
      ++looked_at;
    }
    EXPECT_GE(looked_at, 100u);
  }
}

TEST(EqsatBound, TheOptimumIsNoDearerThanAnySelection) {
  const Saturated saturated(kCell, 60);
  const auto model = cost::make_roofline_cost(runtime::Fusion::kNone);
  const ENodeCosts costs(saturated.graph, *model);
  const auto cost_of = [&](const Selection& selection) {
    return model->graph_cost(to_graph(saturated.problem, selection)).total_us;
  };
  const BranchAndBound found =
      branch_and_bound(saturated.problem, costs, 1e9, 10'000'000, cost_of, core::StopToken());
  ASSERT_TRUE(found.complete);
  ASSERT_FALSE(found.best.empty());
  EXPECT_DOUBLE_EQ(found.cost_us, cost_of(found.best));
  EXPECT_GE(found.cost_us, lower_bound(saturated.problem, costs) - 1e-6);
  rules::Random random(2);
  for (int attempt = 0; attempt < 2000; ++attempt) {
    Selection selection =
        greedy_selection(saturated.problem, costs, given_selection(saturated.problem));
    for (std::size_t k = 0; k < selection.size(); ++k) {
      const auto& nodes = saturated.graph[ClassId(k)].nodes;
      if (!nodes.empty() && random.between(0, 2) == 0)
        selection[k] = nodes[random.next() % nodes.size()];
    }
    if (needed_classes(saturated.problem, selection)) {
      EXPECT_LE(found.cost_us, cost_of(selection) + 1e-6);
    }
  }
}

}  // namespace
}  // namespace soapstone::search
