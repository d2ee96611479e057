// The second strategy for regions: what it finds is equal and cheaper, and bounds hold.
#include "search/saturation/eqsat.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "cost/models/taso_cost.h"
#include "ops/evaluation/evaluate.h"
#include "rules/sampling/sample.h"
#include "search/regions/region.h"
#include "search/saturation/eqsat_bound.h"
#include "search/saturation/eqsat_selection.h"
#include "search/saturation/lower_bound.h"
#include "tests/rules/example_graphs.h"
#include "tests/search/search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using rules::ClassId;
using rules::ENodeId;

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
Graph with_constants(std::string_view text) {
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

/// The whole graph as a region: without names.
Graph region_of(const Graph& graph) {
  std::vector<core::NodeId> nodes;
  for (core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id)) nodes.push_back(id);
  return extract_region(graph, nodes).graph;
}

EqsatLimits limits_with(std::size_t nodes, std::uint64_t exact_steps = 20'000) {
  EqsatLimits limits;
  limits.saturation.nodes = nodes;
  limits.exact_steps = exact_steps;
  return limits;
}

RegionResult saturated(const Graph& region, const rules::RuleSet& rules, const EqsatLimits& limits,
                       bool allow_unproved = false) {
  verifier::Admission admission(rules, {.allow_unproved = allow_unproved});
  const rules::SaturationRules prepared(rules.rules(), true);
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  return saturate_region(region, admission, prepared, *cost, *cost, limits, [] { return false; });
}

/// The region with its lemma applied.
Graph result_of(const Graph& region, const RegionResult& found) {
  EXPECT_EQ(found.steps.size(), 1u);
  const RegionStep& step = found.steps.at(0);
  auto graph = rules::apply(region, step.lemma->rule, step.rewrite.match);
  EXPECT_TRUE(graph.ok());
  EXPECT_EQ(graph->node_bound(), step.node_bound_after);
  EXPECT_EQ(graph->tensor_bound(), step.tensor_bound_after);
  return *std::move(graph);
}

double cost_of(const Graph& graph) {
  return cost::make_roofline_cost(runtime::Fusion::kFull)->graph_cost(graph).total_us;
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
  for (std::size_t k = 0; k < a.outputs().size(); ++k)
    EXPECT_THAT((*in_b)[k], testing::Pointwise(testing::DoubleNear(1e-9), (*in_a)[k]));
}

class EqsatExample : public testing::TestWithParam<std::string_view> {};

TEST_P(EqsatExample, IsEqualAndNoDearer) {
  const Graph region = region_of(with_constants(GetParam()));
  const RegionResult found = saturated(region, shipped_rules(), limits_with(600, 2'000));
  EXPECT_DOUBLE_EQ(found.cost_before_us, cost_of(region));
  EXPECT_LE(found.bound_us, found.cost_after_us);
  EXPECT_FALSE(found.lost);
  EXPECT_LE(found.cost_after_us, found.cost_before_us);
  EXPECT_EQ(found.steps.empty(), found.cost_after_us == found.cost_before_us);
  if (found.steps.empty()) return;
  const Graph result = result_of(region, found);
  EXPECT_NEAR(cost_of(result), found.cost_after_us, 1e-9);
  expect_equal(region, result);
}

TEST_P(EqsatExample, DependsOnItsArgumentsAlone) {
  const Graph region = region_of(with_constants(GetParam()));
  const RegionResult a = saturated(region, shipped_rules(), limits_with(500, 2'000));
  const RegionResult b = saturated(region, shipped_rules(), limits_with(500, 2'000));
  ASSERT_EQ(a.steps.size(), b.steps.size());
  EXPECT_EQ(a.bound_us, b.bound_us);
  if (a.steps.empty()) return;
  EXPECT_EQ(rules::print(a.steps[0].lemma->rule), rules::print(b.steps[0].lemma->rule));
  EXPECT_EQ(a.steps[0].lemma->steps.size(), b.steps[0].lemma->steps.size());
}

INSTANTIATE_TEST_SUITE_P(All, EqsatExample, testing::ValuesIn(rules::kExampleGraphs),
                         [](const auto& test) {
                           const std::string text(test.param.substr(6));
                           return text.substr(0, text.find('\n'));
                         });

TEST(Eqsat, MergesWhatPaysOnlyTogether) {
  const Graph region = region_of(with_constants(rules::kExampleGraphs[2]));
  const RegionResult found = saturated(region, shipped_rules(), limits_with(800));
  EXPECT_LT(found.cost_after_us, 0.9 * found.cost_before_us);
  ASSERT_EQ(found.steps.size(), 1u);
  EXPECT_GE(found.steps[0].lemma->steps.size(), 2u);
}

TEST(Eqsat, AllResultsOfAMergeAreTakenAtOnce) {
  for (const std::size_t count : {2, 3}) {
    const Graph region = region_of(parallel_matmuls(count, 64));
    const RegionResult found =
        saturated(region, rule_set_of(kMergeMatmuls), limits_with(2000), true);
    const Graph result = result_of(region, found);
    // One product; splits of one row are views.
    EXPECT_EQ(cost::make_roofline_cost(runtime::Fusion::kFull)->graph_cost(result).launches, 1u);
    EXPECT_EQ(found.bound_us, found.cost_after_us);
    // Merged operators can be merged again, without end.
    EXPECT_TRUE(found.cheapest_kept) << count;
    EXPECT_FALSE(found.optimal);
    expect_equal(region, result);
  }
}

/// What stands behind an einsum is in its launch, so the bound must not count another.
TEST(Eqsat, StepsBehindAnEinsumMayCostNothing) {
  const Graph region = region_of(graph_of(
      "graph g\n  x: f32[3, 4, 5]\n  w: f32[3, 5, 6]\n  b: f32[3, 1, 6]\n"
      "  y = einsum(x, w; equation=\"abc,acd->abd\")\n  z = add(y, b)\n  r = relu(z)\n  return r"));
  const rules::RuleSet none = rule_set_of("rule twice\n  x: [m, n]\n  source\n    t = neg(x)\n"
                                          "    y = neg(t)\n  target\n    y = x\n");
  EXPECT_EQ(cost::make_roofline_cost(runtime::Fusion::kFull)->graph_cost(region).launches, 1U);
  const RegionResult found = saturated(region, none, limits_with(1000), true);
  EXPECT_LE(found.bound_us, found.cost_before_us);
  EXPECT_EQ(found.cost_after_us, found.cost_before_us);
}

TEST(Eqsat, WhatLimitsEndedIsNotOptimal) {
  const Graph region = region_of(parallel_matmuls(3, 64));
  const RegionResult some = saturated(region, rule_set_of(kMergeMatmuls), limits_with(10), true);
  EXPECT_FALSE(some.optimal);
  EXPECT_EQ(some.stop, RegionStop::kBudget);
  const rules::RuleSet none = rule_set_of("rule twice\n  x: [m, n]\n  source\n    t = neg(x)\n"
                                          "    y = neg(t)\n  target\n    y = x\n");
  const RegionResult all = saturated(region, none, limits_with(1000), true);
  EXPECT_TRUE(all.optimal);
  EXPECT_TRUE(all.steps.empty());
  EXPECT_EQ(all.bound_us, all.cost_before_us);
}

TEST(Eqsat, CostsThatAreMeasuredCertifyNothing) {
  class NotMonotone final : public cost::CostModel {
   public:
    cost::GraphCost graph_cost(const Graph& graph) override { return inner_->graph_cost(graph); }
    std::vector<Item> breakdown(const Graph& graph) override { return inner_->breakdown(graph); }
    std::string description() const override { return "some"; }

   private:
    std::unique_ptr<cost::CostModel> inner_ = cost::make_roofline_cost(runtime::Fusion::kFull);
  } costs;
  const rules::RuleSet rules = rule_set_of(kMergeMatmuls);
  verifier::Admission admission(rules, {.allow_unproved = true});
  const RegionResult found = saturate_region(region_of(parallel_matmuls(2, 64)), admission,
                                             rules::SaturationRules(rules.rules(), true), costs,
                                             costs, limits_with(2000), [] { return false; });
  EXPECT_EQ(found.steps.size(), 1u);
  EXPECT_FALSE(found.optimal);
  EXPECT_FALSE(found.cheapest_kept);
}

TEST(Eqsat, WhatIsNotAdmittedIsNotUsed) {
  const Graph graph =
      graph_of("graph g\n  x: f32[4, 4]\n  a: f32[4, 4]\n  b: f32[4, 4]\n"
               "  y = matmul(x, a)\n  z = matmul(x, b)\n  s = add(y, z)\n  return s");
  EXPECT_TRUE(saturated(region_of(graph), rule_set_of(kWrongRule), limits_with(500)).steps.empty());
}

TEST(Eqsat, AnOutputMayBecomeAnInput) {
  const Graph graph = graph_of("graph g\n  x: f32[4, 4]\n  t = neg(x)\n  y = neg(t)\n  u = neg(y)\n"
                               "  v = neg(u)\n  return y, v");
  const rules::RuleSet rules = rule_set_of("rule twice\n  x: [m, n]\n  source\n    t = neg(x)\n"
                                           "    y = neg(t)\n  target\n    y = x\n");
  const Graph region = region_of(graph);
  const RegionResult found = saturated(region, rules, limits_with(500), true);
  EXPECT_EQ(found.cost_after_us, 0);
  EXPECT_TRUE(found.optimal);
  const Graph result = result_of(region, found);
  EXPECT_TRUE(result.order().empty());
  expect_equal(region, result);
}

TEST(Eqsat, StoppedItReturnsWhatItHas) {
  verifier::Admission admission(shipped_rules());
  const rules::SaturationRules prepared(shipped_rules().rules(), true);
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  const Graph region = region_of(with_constants(rules::kExampleGraphs[1]));
  const RegionResult found = saturate_region(region, admission, prepared, *cost, *cost,
                                             limits_with(600), [] { return true; });
  EXPECT_EQ(found.cost_after_us, found.cost_before_us);
  EXPECT_FALSE(found.optimal);
}

/// Values of weights that are equal by chance are nothing to build on: another region of the kind
/// has others.
TEST(Eqsat, ValuesOfWeightsAreNotLookedAt) {
  core::GraphBuilder builder("g");
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {1, 64}, true});
  std::vector<core::TensorId> outputs;
  for (int k = 0; k < 2; ++k) {
    const auto w = ops::append(builder, "full", {},
                               core::Attributes{{"shape", core::Shape{64, 64}}, {"value", 0.5}});
    outputs.push_back((*ops::append(builder, "matmul", {x, (*w)[0]}))[0]);
  }
  builder.set_outputs(outputs);
  const Graph region = region_of(*std::move(builder).finish());
  const RegionResult found = saturated(region, rule_set_of(kMergeMatmuls), limits_with(500), true);
  const Graph result = result_of(region, found);
  const auto products = std::ranges::count_if(
      result.order(), [&](core::NodeId id) { return result.node(id).op->name == "matmul"; });
  EXPECT_EQ(products, 1);
  EXPECT_EQ(found.steps[0].lemma->rule.source.inputs().size(), 3u);
  EXPECT_NE(result.tensor(result.outputs()[0]).output_index,
            result.tensor(result.outputs()[1]).output_index);
}

/// An e-graph of a model, saturated a little.
struct Saturated {
  rules::EGraph graph;
  Graph model;
  EqsatProblem problem{graph, model, {}, {}};

  Saturated(std::string_view text, std::size_t nodes) : model(with_constants(text)) {
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

TEST_P(EqsatExample, NoSelectionIsBelowTheBound) {
  const auto roofline = cost::make_roofline_cost(runtime::Fusion::kFull);
  const auto taso = cost::make_taso_cost();
  for (cost::CostModel* model : {roofline.get(), taso.get()}) {
    const Saturated saturated(GetParam(), 300);
    const ENodeCosts costs(saturated.graph, *model);
    const double equal_shares = lower_bound(saturated.problem, costs, 0);
    EXPECT_GT(equal_shares, 0);
    const double bound = lower_bound(saturated.problem, costs, 50);
    EXPECT_GE(bound, equal_shares);
    rules::Random random(1);
    std::size_t looked_at = 0;
    for (int attempt = 0; attempt < 1500; ++attempt) {
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
    EXPECT_GE(looked_at, 50u);
  }
}

TEST(EqsatSelection, IsNoGraphIfItIsCircular) {
  // Once -(-x) is x, the second negation makes what it is computed from.
  rules::EGraph graph;
  const Graph model =
      graph_of("graph g\n  x: f32[4]\n  u = neg(x)\n  v = neg(u)\n  w = exp(v)\n  return w, u");
  EqsatProblem problem{
      graph, model, {graph.add_input(0, model.tensor(model.inputs()[0]).type)}, {}};
  const auto classes = graph.add_graph(model, problem.inputs);
  for (core::TensorId id : model.outputs()) problem.outputs.push_back(classes[id.index()]);
  const auto [u, v] = std::pair(model.node(model.order()[0]), model.node(model.order()[1]));
  graph.merge(problem.inputs[0], classes[v.outputs[0].index()]);
  graph.rebuild();
  Selection selection = given_selection(problem);
  EXPECT_TRUE(needed_classes(problem, selection));
  const ClassId both = graph.find(problem.inputs[0]);
  ASSERT_EQ(graph[both].nodes.size(), 2u);
  selection[both.index()] = graph[both].nodes[1];
  EXPECT_FALSE(needed_classes(problem, selection));
  const auto cost = cost::make_taso_cost();
  const ENodeCosts costs(graph, *cost);
  EXPECT_EQ(greedy_selection(problem, costs, given_selection(problem))[both.index()],
            graph[both].nodes[0]);
}

/// A sum that is split in its halves again is made of these: a circle that costs nothing, and that
/// no graph can be made of.
TEST(EqsatBound, ACircleMakesNothing) {
  rules::EGraph graph;
  const Graph model = graph_of(R"(graph g
  x: f32[1, 64]
  a: f32[64, 64]
  b: f32[64, 64]
  u = matmul(x, a)
  v = matmul(x, b)
  w = concat(u, v; axis=1)
  s, t = split(w; axis=1, sizes=[64, 64])
  return s, t)");
  EqsatProblem problem{graph, model, {}, {}};
  for (std::size_t k = 0; k < model.inputs().size(); ++k)
    problem.inputs.push_back(
        graph.add_input(static_cast<std::uint32_t>(k), model.tensor(model.inputs()[k]).type));
  const auto classes = graph.add_graph(model, problem.inputs);
  for (core::TensorId id : model.outputs()) problem.outputs.push_back(classes[id.index()]);
  for (std::size_t k = 0; k < 2; ++k) {
    const core::NodeId product = model.order()[k];
    graph.merge(classes[model.node(product).outputs[0].index()], problem.outputs[k]);
  }
  graph.rebuild();
  const auto model_cost = cost::make_taso_cost();
  const ENodeCosts costs(graph, *model_cost);
  const double products_us =
      model_cost
          ->graph_cost(graph_of("graph g\n  x: f32[1, 64]\n  a: f32[64, 64]\n  b: f32[64, 64]\n"
                                "  u = matmul(x, a)\n  v = matmul(x, b)\n  return u, v"))
          .total_us;
  EXPECT_NEAR(lower_bound(problem, costs, 100), products_us, 0.02 * products_us);
  EXPECT_LE(lower_bound(problem, costs, 100), products_us);
}

TEST(EqsatBound, TheOptimumIsNoDearerThanAnySelection) {
  const Saturated saturated(rules::kExampleGraphs[2], 60);
  const auto model = cost::make_roofline_cost(runtime::Fusion::kNone);
  const ENodeCosts costs(saturated.graph, *model);
  const auto cost_of = [&](const Selection& selection) {
    return model->graph_cost(to_graph(saturated.problem, selection)).total_us;
  };
  const BranchAndBound found =
      branch_and_bound(saturated.problem, costs, 1e9, 10'000'000, cost_of, [] { return false; });
  ASSERT_TRUE(found.complete);
  ASSERT_FALSE(found.best.empty());
  EXPECT_DOUBLE_EQ(found.cost_us, cost_of(found.best));
  EXPECT_GE(found.cost_us, lower_bound(saturated.problem, costs, 50) - 1e-6);
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
