// The planner's best plan is the best there is: no choice of loops, layouts and meshes takes less
// time, for models of 2 to 4 operators on 2 to 4 devices.
// SOAPSTONE_BRUTE_FORCE is the number of models of each class, SOAPSTONE_BRUTE_FORCE_FROM the first
// seed.
#include "tests/parallel/brute_force.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "parallel/planning/exchange_bound.h"
#include "parallel/planning/mesh_planner.h"
#include "parallel/planning/named.h"

namespace soapstone::parallel {
namespace {

struct Class {
  const char* name;
  brute_force::ModelSize size;
  std::int64_t devices = 2;
  bool is_training = false, has_unlike_devices = false, cuts_unevenly = false;
  std::int64_t microbatches = 1;
};

constexpr int kModels = 4;

void PrintTo(const Class& cls, std::ostream* out) { *out << cls.name; }

/// One stage, nothing computed again, nothing kept of what is gathered, buckets of the usual size.
MeshPlanOptions options_of(const Class& cls) {
  MeshPlanOptions options;
  options.is_training = cls.is_training;
  options.freedom = (*named_strategy("best"))->freedom;
  options.freedom.pipelines = false;
  options.freedom.gathers_once = false;
  options.freedom.cuts_unevenly = cls.cuts_unevenly;
  options.sizes.microbatches = cls.microbatches;
  options.sizes.chunks = 1;
  options.sizes.recompute = Recompute::kNothing;
  options.sizes.bucket_bytes = kUsualBucket;
  return options;
}

/// No step takes less, whatever its shape.
double bound_us(const brute_force::ModelGraph& model, const Topology& machine, const Class& cls) {
  const MeshPlanOptions options = options_of(cls);
  const MeshEvaluator evaluator(model.graph, model.is_weight, machine, options);
  ExchangeBoundOptions bound;
  bound.most_shardings = 100;
  const core::StopToken never;
  return least_step_us(evaluator, bound, never);
}

MeshPlanOutcome planned(const brute_force::ModelGraph& model, const Topology& machine,
                        const Class& cls) {
  const core::StopToken never;
  auto outcome =
      plan_on_meshes(model.graph, model.is_weight, machine, options_of(cls), core::silent(), never);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  return *std::move(outcome);
}

std::string described(const MeshPlan& plan, const core::Graph& graph) {
  std::string text = fmt::format("mesh {} x {} x {}{}", plan.shape.model, plan.shape.any,
                                 plan.shape.batch, plan.uneven ? " uneven" : "");
  for (const core::NodeId id : graph.order()) {
    const AxisLoops& loops = plan.sharding.nodes[id.index()].loops;
    text += fmt::format("; {} loops {},{},{}", graph.tensor(graph.node(id).outputs[0]).name,
                        loops[0], loops[1], loops[2]);
  }
  for (const HeldWeight& weight : plan.sharding.weights) {
    const auto& axes = plan.sharding.tensors[weight.tensor.index()].axes;
    text +=
        fmt::format("; {} {},{},{}", graph.tensor(weight.tensor).name, axes[0], axes[1], axes[2]);
  }
  return text;
}

bool cuts_something(const MeshPlan& plan) {
  return std::ranges::any_of(plan.sharding.nodes, [](const NodeChoice& node) {
    return std::ranges::any_of(node.loops, [](std::int8_t loop) { return loop >= 0; });
  });
}

int number(const char* name, int otherwise) {
  const char* const wanted = std::getenv(name);
  return wanted != nullptr ? std::atoi(wanted) : otherwise;
}

class BruteForce : public testing::TestWithParam<Class> {};

TEST_P(BruteForce, FindsNothingFasterThanThePlan) {
  const Class& cls = GetParam();
  const int first = number("SOAPSTONE_BRUTE_FORCE_FROM", 0);
  const int count = number("SOAPSTONE_BRUTE_FORCE", kModels);
  int cut = 0, uneven = 0, given_up = 0;
  for (int seed = first; seed < first + count; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    brute_force::Model model = brute_force::random_model(random, cls.size);
    model.rows *= cls.microbatches;
    const Topology machine =
        brute_force::random_machine(random, cls.devices, cls.has_unlike_devices);
    const brute_force::ModelGraph graph = brute_force::graph_of_model(model);
    const MeshPlanOutcome outcome = planned(graph, machine, cls);
    const MeshPlan& plan = outcome.plan;
    given_up += outcome.has_looked_at_all ? 0 : 1;
    cut += cuts_something(plan) ? 1 : 0;
    uneven += plan.uneven ? 1 : 0;
    constexpr double kRounding = 1e-9;
    const brute_force::Step least =
        brute_force::least_step(model, machine,
                                {cls.is_training, cls.cuts_unevenly, cls.microbatches,
                                 plan.time.total_us * (1 + kRounding)});
    EXPECT_LE(bound_us(graph, machine, cls), least.us * (1 + kRounding)) << "seed " << seed;
    EXPECT_NEAR(least.us, plan.time.total_us, kRounding * plan.time.total_us)
        << "seed " << seed << ", " << least.timed << " plans\n"
        << fmt::format("{} us, planned: {} us", least.us, plan.time.total_us)
        << "\nbest: " << least.plan << "\nplanned: " << described(plan, graph.graph) << "\n"
        << brute_force::to_string(model);
  }
  EXPECT_LE(given_up, count / 100);
  // How much of what is compared is more than one device's work.
  RecordProperty("plans_with_cuts", cut);
  RecordProperty("uneven_plans", uneven);
}

constexpr brute_force::ModelSize matmuls(std::size_t count) { return {count, true}; }
constexpr brute_force::ModelSize operators(std::size_t count) { return {count, false}; }
constexpr brute_force::ModelSize sharing(std::size_t count) { return {count, true, true}; }

std::string name_of(const testing::TestParamInfo<Class>& tested) { return tested.param.name; }

constexpr bool kTrained = true, kUnlike = true, kUnevenly = true;

INSTANTIATE_TEST_SUITE_P(Even, BruteForce,
                         testing::Values(Class{"Matmuls2On2", matmuls(2), 2},
                                         Class{"Matmuls2On2Trained", matmuls(2), 2, kTrained},
                                         Class{"Matmuls3On3", matmuls(3), 3},
                                         Class{"Matmuls3On3Trained", matmuls(3), 3, kTrained},
                                         Class{"Matmuls2On4", matmuls(2), 4},
                                         Class{"Matmuls2On4Trained", matmuls(2), 4, kTrained},
                                         Class{"Operators3On2", operators(3), 2},
                                         Class{"Operators3On2Trained", operators(3), 2, kTrained},
                                         Class{"Operators4On2", operators(4), 2},
                                         Class{"Operators4On2Trained", operators(4), 2, kTrained},
                                         Class{"Operators4On3", operators(4), 3},
                                         Class{"Operators4On3Trained", operators(4), 3, kTrained},
                                         Class{"Operators3On4", operators(3), 4},
                                         Class{"Operators3On4Trained", operators(3), 4, kTrained},
                                         Class{"Operators4On4", operators(4), 4},
                                         Class{"Operators4On4Trained", operators(4), 4, kTrained}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    Microbatches, BruteForce,
    testing::Values(Class{"Operators3On2", operators(3), 2, false, false, false, 2},
                    Class{"Operators3On4Trained", operators(3), 4, kTrained, false, false, 4},
                    Class{"Unevenly3On2Trained", operators(3), 2, kTrained, kUnlike, kUnevenly, 2},
                    Class{"Shared2On4Trained", sharing(2), 4, kTrained, false, false, 2}),
    name_of);

/// Weights that several operators read.
INSTANTIATE_TEST_SUITE_P(Shared, BruteForce,
                         testing::Values(Class{"Matmuls2On2", sharing(2), 2},
                                         Class{"Matmuls2On2Trained", sharing(2), 2, kTrained},
                                         Class{"Matmuls3On3Trained", sharing(3), 3, kTrained},
                                         Class{"Matmuls2On4Trained", sharing(2), 4, kTrained}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    Unlike, BruteForce,
    testing::Values(Class{"Operators3On2", operators(3), 2, false, kUnlike},
                    Class{"Operators3On2Trained", operators(3), 2, kTrained, kUnlike},
                    Class{"Operators3On4", operators(3), 4, false, kUnlike},
                    Class{"Operators3On4Trained", operators(3), 4, kTrained, kUnlike}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Uneven, BruteForce,
    testing::Values(Class{"Operators3On2", operators(3), 2, false, kUnlike, kUnevenly},
                    Class{"Operators3On2Trained", operators(3), 2, kTrained, kUnlike, kUnevenly},
                    Class{"Operators3On4", operators(3), 4, false, kUnlike, kUnevenly},
                    Class{"Operators3On4Trained", operators(3), 4, kTrained, kUnlike, kUnevenly}),
    name_of);

}  // namespace
}  // namespace soapstone::parallel
