// Weights may grow by little, and stay shared where the original shares them.
#include "search/base/weight_growth.h"

#include "cost/models/cost_model.h"
#include "search/base/objective.h"
#include "search/search.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::TensorId;

/// A model that is written step by step.
class Model {
 public:
  TensorId input(std::int64_t rows, std::int64_t columns) {
    return builder_.add_input("x", {core::DataType::kFloat32, {rows, columns}, true});
  }
  TensorId weight(std::int64_t rows, std::int64_t columns, float seed) {
    return builder_.add_constant(weights(rows, columns, seed));
  }
  TensorId add(std::string_view op, std::vector<TensorId> inputs,
               core::Attributes attributes = {}) {
    return (*ops::append(builder_, op, std::move(inputs), std::move(attributes)))[0];
  }
  Graph with_outputs(std::vector<TensorId> outputs) && {
    builder_.set_outputs(std::move(outputs));
    return *std::move(builder_).finish();
  }

 private:
  core::GraphBuilder builder_;
};

/// x·a·b with a narrow middle; `folded`: x·(a·b).
Graph bottleneck(std::int64_t wide, std::int64_t narrow, bool folded) {
  Model model;
  const TensorId x = model.input(1, wide);
  const TensorId a = model.weight(wide, narrow, 1), b = model.weight(narrow, wide, 2);
  const TensorId y = folded ? model.add("matmul", {x, model.add("matmul", {a, b})})
                            : model.add("matmul", {model.add("matmul", {x, a}), b});
  return std::move(model).with_outputs({y});
}

TEST(WeightLimit, OneMegabyteIsFreeAndMoreIsNot) {
  const WeightLimit small(bottleneck(256, 4, false), {});
  EXPECT_TRUE(small.allows(bottleneck(256, 4, true)));  // 256 KiB in place of 8
  EXPECT_FALSE(small.has_refused());
  const WeightLimit large(bottleneck(1024, 4, false), {});
  EXPECT_FALSE(large.allows(bottleneck(1024, 4, true)));  // 4 MiB in place of 32 KiB
  EXPECT_TRUE(large.has_refused());
  EXPECT_TRUE(large.allows(bottleneck(1024, 4, false)));
}

TEST(WeightLimit, ZeroMeansNoneAndNegativeAnything) {
  const Graph before = bottleneck(256, 4, false), after = bottleneck(256, 4, true);
  EXPECT_FALSE(WeightLimit(before, {.share = 0}).allows(after));
  EXPECT_TRUE(WeightLimit(before, {.share = 0}).allows(before));
  EXPECT_TRUE(WeightLimit(before, {.share = -1}).allows(after));
  EXPECT_TRUE(WeightLimit(before, {.share = 32}).allows(after));
  EXPECT_TRUE(WeightLimit().allows(after));
}

/// One weight for two kinds of operators, as an embedding and the last layer have it; `versions`:
/// the second one reads one of its own, computed from it.
Graph tied(bool versions) {
  Model model;
  const TensorId x = model.input(1, 64), w = model.weight(64, 64, 1);
  const TensorId scaled = model.add("mul", {w, model.weight(64, 1, 3)});
  const TensorId y = model.add("add", {x, w});
  return std::move(model).with_outputs({y, model.add("matmul", {y, versions ? scaled : w})});
}

TEST(WeightLimit, SharedWeightsStayShared) {
  const WeightLimit limit(tied(false), {});
  EXPECT_FALSE(limit.allows(tied(true)));  // 16 KiB more: within what is free, but for the sharing
  EXPECT_TRUE(limit.allows(tied(false)));
  // A weight that has two versions may have two.
  EXPECT_TRUE(WeightLimit(tied(true), {}).allows(tied(true)));
  EXPECT_TRUE(WeightLimit(tied(false), {.share = 1}).allows(tied(true)));
}

/// Three products twice with the same weights; `joined`: as one product each time.
Graph shared_layers(bool joined) {
  Model model;
  TensorId x = model.input(1, 64);
  const std::vector<TensorId> w = {model.weight(64, 64, 1), model.weight(64, 64, 2),
                                   model.weight(64, 64, 3)};
  std::vector<TensorId> outputs;
  for (int layer = 0; layer < 2; ++layer) {
    core::Attributes axis;
    axis.set("axis", core::Polynomial(1));
    if (joined) {
      outputs.push_back(model.add("matmul", {x, model.add("concat", w, axis)}));
    } else {
      for (const TensorId each : w) outputs.push_back(model.add("matmul", {x, each}));
    }
    x = model.add("relu", {x});
  }
  return std::move(model).with_outputs(outputs);
}

TEST(WeightLimit, EqualWeightsCountOnceAndAJoinIsNoCopy) {
  EXPECT_TRUE(WeightLimit(shared_layers(false), {.share = 0}).allows(shared_layers(true)));
  EXPECT_TRUE(WeightLimit(shared_layers(true), {.share = 0}).allows(shared_layers(false)));
}

TEST(WeightLimit, APartKnowsWhatIsSharedElsewhere) {
  const WeightLimit limit(tied(false), {});
  const auto part = [](bool is_scaled) {
    Model model;
    const TensorId x = model.input(1, 64), w = model.weight(64, 64, 1);
    const TensorId read = is_scaled ? model.add("mul", {w, model.weight(64, 1, 3)}) : w;
    const TensorId y = model.add("matmul", {x, read});
    return std::move(model).with_outputs({y});
  };
  EXPECT_EQ(limit.bytes_of_part(part(false)), 0U);
  EXPECT_EQ(limit.bytes_of_part(part(true)), 64U * 64 * 4);
}

constexpr const char* kAssociateWeights = R"(
rule associate_weights
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)
  checked 2^61-1, 200 sizes; floats: exact
)";

double searched_gain(const Graph& graph, const GrowthOptions& growth) {
  const rules::RuleSet rules = rule_set_of(kAssociateWeights);
  verifier::Admission admission(rules, {.allow_unproved = true});
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
  Objective objective(*cost);
  objective.limit_weights(WeightLimit(graph, growth));
  SearchOptions options;
  options.objective = &objective;
  const SearchResult result = search(graph, admission, *cost, options, core::silent(), {});
  if (result.best.empty()) return 1;
  return result.cost_before.total_us / result.best.front().cost_us;
}

TEST(WeightLimit, TheSearchKeepsItAndTakesWhatFits) {
  // Eight bottlenecks behind one another: each grows from 8 KiB to 256 KiB, and is faster.
  Model model;
  TensorId x = model.input(1, 256);
  for (int k = 0; k < 8; ++k) {
    const TensorId a = model.weight(256, 4, static_cast<float>(2 * k));
    x = model.add("matmul", {model.add("matmul", {x, a}),
                             model.weight(4, 256, static_cast<float>(2 * k + 1))});
    x = model.add("relu", {x});
  }
  const Graph graph = std::move(model).with_outputs({x});
  const double free = searched_gain(graph, {.share = -1});
  const double some = searched_gain(graph, {});
  EXPECT_GT(free, some);
  EXPECT_GT(some, 1.05);
  EXPECT_EQ(searched_gain(graph, {.share = 0}), 1);
}

}  // namespace
}  // namespace soapstone::search
