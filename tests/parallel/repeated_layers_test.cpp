// Layers that a plan treats alike are left out of what is checked, and no others.
#include "parallel/plans/repeated_layers.h"

#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/lowering/step_cuts.h"
#include "parallel/planning/named.h"
#include "parallel/plans/plan_cuts.h"
#include "parallel/training/training_step.h"
#include "tests/parallel/small_networks.h"

namespace soapstone::parallel {
namespace {

using core::TensorId;

/// A plan, as it is written.
PlanDocument planned(const PlannedNetwork& net, const std::string& strategy, bool is_training,
                     std::int64_t devices = 4) {
  const Topology machine = topology("k80x4-ib");
  MeshPlanOptions options;
  options.is_training = is_training;
  options.devices = devices;
  options.freedom = (*named_strategy(strategy))->freedom;
  const core::StopToken never;
  const auto plan =
      plan_on_meshes(net.graph, net.is_weight, machine, options, core::silent(), never);
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  PlanDocument document = document_of(net.graph, net.is_weight, machine, *plan);
  document.is_training = is_training;
  document.cuts_states = is_training && plan->plan.cuts_states;
  return document;
}

LeftOutLayers left_out_of(const PlannedNetwork& net, const PlanDocument& plan) {
  return repeated_layers({net.graph, net.is_weight, {}}, plan);
}

/// A network without layers, and its plan.
struct Shorter {
  PlannedNetwork net;
  PlanDocument plan;
};

Shorter without(const PlannedNetwork& net, const PlanDocument& plan,
                const LeftOutLayers& left_out) {
  auto graph = without_layers(net.graph, left_out);
  EXPECT_TRUE(graph.ok());
  auto shorter = without_layers(plan, net.graph, *graph, net.is_weight, left_out);
  EXPECT_TRUE(shorter.ok()) << shorter.error().to_string();
  std::vector<bool> is_weight = weights_read(*graph, net.is_weight);
  return {{*std::move(graph), std::move(is_weight)}, *std::move(shorter)};
}

struct Lowered {
  core::Graph graph;
  std::vector<RankProgram> programs;
};

Lowered lowered(const PlannedNetwork& net, const PlanDocument& plan) {
  const GraphLoops loops = graph_loops(net.graph, net.is_weight);
  const CutGraph model{net.graph, loops, net.is_weight};
  PlannedCuts cuts = cuts_of(plan, net.graph, loops, net.is_weight).value();
  uncut_what_has_no_parts(model, cuts);
  if (!plan.is_training) {
    cuts = with_microbatches(model, std::move(cuts), plan.shape.microbatches);
    auto programs = lower(net.graph, loops, net.is_weight, cuts);
    EXPECT_TRUE(programs.ok()) << programs.error().to_string();
    return {net.graph, *std::move(programs)};
  }
  TrainingOptions options;
  options.optimizer = Optimizer::kAdam;
  for (const TensorId input : net.graph.inputs())
    if (net.is_weight[input.index()]) options.weights.push_back(input);
  const auto step = training_step(net.graph, options);
  EXPECT_TRUE(step.ok()) << step.error().to_string();
  const CutStep cut = cut_step(*step, model, cuts, {plan.shape.microbatches, plan.cuts_states});
  auto programs = lower(step->graph, cut.loops, cut.is_weight, cut.cuts);
  EXPECT_TRUE(programs.ok()) << programs.error().to_string();
  return {step->graph, *std::move(programs)};
}

/// How often ranks do what, whatever the numbers of values and messages are.
using Deeds = std::map<std::string, std::int64_t>;

void count(const RankProgram& program, const RankStep& step, Deeds& deeds) {
  const auto type_of = [&](RankValueId value) {
    std::string text;
    for (const core::Polynomial& size : program.values[value.index()].shape)
      text += fmt::format("{},", *size.as_constant());
    return text;
  };
  if (const auto* compute = std::get_if<ComputeStep>(&step)) {
    for (const core::NodeId id : compute->graph.order())
      ++deeds[fmt::format("{:x}", compute->graph.node(id).local_hash)];
  } else if (const auto* messages = std::get_if<MessageStep>(&step)) {
    for (const Message& message : messages->sent)
      ++deeds[fmt::format("{} to {}", type_of(message.value), message.peer)];
    for (const Message& message : messages->received)
      ++deeds[fmt::format("{} from {}", type_of(message.value), message.peer)];
  } else {
    const auto& sum = std::get<AllReduceStep>(step);
    ++deeds[fmt::format("{} of {}", type_of(sum.to), fmt::join(sum.group, " and "))];
  }
}

Deeds deeds_of(const RankProgram& program) {
  Deeds deeds;
  for (const RankStep& step : program.steps) count(program, step, deeds);
  return deeds;
}

/// `a` without `times` times `b`.
Deeds without(Deeds a, const Deeds& b, std::int64_t times) {
  for (const auto& [deed, number] : b) a[deed] -= times * number;
  std::erase_if(a, [](const auto& deed) { return deed.second == 0; });
  return a;
}

PlannedNetwork deep_gpt(std::int64_t layers = 8) {
  models::ParameterValues sizes = small_networks()[3].sizes;
  sizes["layers"] = layers;
  return network("gpt", sizes);
}

class StrategyOfADeepModel : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(StrategyOfADeepModel, DoesInLayersThatAreLeftOutWhatItDoesInOthers) {
  const auto& [strategy, is_training] = GetParam();
  const PlannedNetwork net = deep_gpt(8), deeper = deep_gpt(9);
  const PlanDocument plan = planned(net, strategy, is_training);
  const LeftOutLayers left_out = left_out_of(net, plan);
  const std::size_t layer = deeper.graph.order().size() - net.graph.order().size();
  ASSERT_GT(left_out.nodes, 0u);
  ASSERT_EQ(left_out.nodes % layer, 0u);
  const Shorter shorter = without(net, plan, left_out);
  EXPECT_EQ(shorter.net.graph.order().size() + left_out.nodes, net.graph.order().size());
  const Lowered all = lowered(net, plan), some = lowered(shorter.net, shorter.plan);
  const Lowered more = lowered(deeper, planned(deeper, strategy, is_training));
  ASSERT_EQ(some.programs.size(), all.programs.size());
  for (std::size_t r = 0; r < all.programs.size(); ++r) {
    const Deeds of_layer = without(deeds_of(more.programs[r]), deeds_of(all.programs[r]), 1);
    EXPECT_EQ(without(deeds_of(all.programs[r]), of_layer,
                      static_cast<std::int64_t>(left_out.nodes / layer)),
              deeds_of(some.programs[r]))
        << "rank " << r;
  }
  const auto difference = check_programs(some.graph, some.programs, 7);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  EXPECT_FALSE(*difference);
}

using Case = std::tuple<std::string, bool>;
INSTANTIATE_TEST_SUITE_P(All, StrategyOfADeepModel,
                         testing::Values(Case("data", false), Case("megatron", false),
                                         Case("mesh-tensorflow", false), Case("best", true),
                                         Case("data", true), Case("zero-1", true),
                                         Case("zero-3", true), Case("tensor-fsdp", true)),
                         [](const auto& test) {
                           return in_letters(std::get<0>(test.param) +
                                             (std::get<1>(test.param) ? "_training" : ""));
                         });

TEST(RepeatedLayers, StagesOfAPipelineAreLeftOutWithTheirLayers) {
  const PlannedNetwork net = deep_gpt(16);
  PlanDocument plan = planned(net, "data", true);
  // Eight stages of two layers each: a layer ends behind what it adds to.
  const std::vector<std::string> names = node_names(net.graph);
  std::size_t at = 0;
  std::int64_t stage = 0;
  for (const core::NodeId id : net.graph.order()) {
    if (net.graph.is_constant_expression(id)) continue;
    int layer = 0;
    if (std::sscanf(names[id.index()].c_str(), "layer%d/", &layer) == 1)
      stage = std::max<std::int64_t>(stage, layer / 2);
    plan.nodes[at++].stage = stage;
  }
  for (PlanAxis& axis : plan.axes) axis.size = 1;
  plan.shape = {};
  plan.shape.stages = plan.devices = stage + 1;
  ASSERT_EQ(stage, 7);
  ASSERT_TRUE(check_stages(plan).ok());
  const LeftOutLayers left_out = left_out_of(net, plan);
  EXPECT_EQ(left_out.stages, 4) << "the first one, and three that are alike";
  EXPECT_EQ(left_out.chunks, 1);
  const Shorter shorter = without(net, plan, left_out);
  EXPECT_EQ(shorter.plan.devices, 4);
  const Lowered some = lowered(shorter.net, shorter.plan);
  EXPECT_EQ(some.programs.size(), 4u);
  const auto difference = check_programs(some.graph, some.programs, 7);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  EXPECT_FALSE(*difference);
}

TEST(RepeatedLayers, ALayerWithAnotherCutStays) {
  const PlannedNetwork net = deep_gpt();
  PlanDocument plan = planned(net, "megatron", false);
  const std::vector<std::string> names = node_names(net.graph);
  std::size_t at = 0, changed = 0;
  core::NodeId node;
  for (const core::NodeId id : net.graph.order()) {
    if (net.graph.is_constant_expression(id)) continue;
    PlannedNode& own = plan.nodes[at++];
    if (!names[id.index()].starts_with("layer4/") || plan.cuts[own.cuts].loops.empty()) continue;
    plan.cuts.push_back({});
    own.cuts = plan.cuts.size() - 1;
    node = id;
    ++changed;
    break;
  }
  ASSERT_EQ(changed, 1u);
  const LeftOutLayers left_out = left_out_of(net, plan);
  const Shorter shorter = without(net, plan, left_out);
  EXPECT_TRUE(shorter.net.graph.contains(node));
  EXPECT_LT(left_out.nodes, left_out_of(net, planned(net, "megatron", false)).nodes);
}

TEST(RepeatedLayers, AMissingSumInADeepModelIsSeen) {
  const PlannedNetwork net = deep_gpt();
  const PlanDocument plan = planned(net, "data", true);
  const Shorter shorter = without(net, plan, left_out_of(net, plan));
  Lowered some = lowered(shorter.net, shorter.plan);
  std::set<std::size_t> sums;
  for (const RankStep& step : some.programs[0].steps)
    if (const auto* sum = std::get_if<AllReduceStep>(&step)) sums.insert(sum->number);
  ASSERT_GE(sums.size(), 3u);
  const std::size_t missing =
      *std::next(sums.begin(), static_cast<std::ptrdiff_t>(sums.size() / 2));
  for (std::size_t r = 0; r < some.programs.size(); ++r)
    for (RankStep& step : some.programs[r].steps)
      if (auto* sum = std::get_if<AllReduceStep>(&step); sum && sum->number == missing)
        sum->group = {static_cast<std::int64_t>(r)};
  const auto difference = check_programs(some.graph, some.programs, 7);
  ASSERT_TRUE(difference.ok()) << difference.error().to_string();
  EXPECT_TRUE(*difference);
}

/// Layers of a product and an activation, on two devices.
class Chain {
 public:
  Chain() : x_(builder_.add_input("x", type({8, 4}))), last_(x_) {}

  TensorId weight(const std::string& name) {
    weights_.push_back(builder_.add_input(name, type({4, 4})));
    return weights_.back();
  }
  TensorId constant(std::int64_t value) {
    return builder_.add_constant(std::make_shared<const core::Literal>(
        ops::filled_literal(core::DataType::kFloat32, {4, 4}, value)));
  }
  /// A weight that is computed from a constant.
  TensorId negated(TensorId constant) {
    weights_.push_back(ops::append(builder_, "neg", {constant}).value().front());
    return weights_.back();
  }
  TensorId append(std::string_view op, std::vector<TensorId> inputs) {
    last_ = ops::append(builder_, op, std::move(inputs)).value().front();
    return last_;
  }
  TensorId layer(TensorId weight, std::string_view activation = "relu") {
    return append(activation, {append("matmul", {last_, weight})});
  }
  TensorId input() const { return x_; }
  TensorId last() const { return last_; }

  PlannedNetwork finish(std::vector<TensorId> more = {}) {
    more.insert(more.begin(), last_);
    builder_.set_outputs(std::move(more));
    PlannedNetwork net{std::move(builder_).finish().value(), {}};
    net.is_weight.resize(net.graph.tensor_bound());
    for (const TensorId id : weights_) net.is_weight[id.index()] = true;
    return net;
  }

 private:
  static core::TensorType type(const core::Dims& dims) {
    return {core::DataType::kFloat32, core::to_shape(dims), true};
  }
  core::GraphBuilder builder_;
  TensorId x_, last_;
  std::vector<TensorId> weights_;
};

/// How many nodes are left out of a chain.
std::size_t left_out_of(const PlannedNetwork& net) {
  return left_out_of(net, planned(net, "data", false, 2)).nodes;
}

TEST(RepeatedLayers, ThreeOfEqualLayersAreLeft) {
  Chain chain;
  for (int k = 0; k < 10; ++k) chain.layer(chain.weight(fmt::format("w{}", k)));
  EXPECT_EQ(left_out_of(chain.finish()), 12u) << "the last one is another one: it makes a result";
}

TEST(RepeatedLayers, AreThoseWithOneWeightForAll) {
  Chain chain;
  const TensorId weight = chain.weight("w");
  for (int k = 0; k < 10; ++k) chain.layer(weight);
  EXPECT_EQ(left_out_of(chain.finish()), 12u) << "the last one is another one: it makes a result";
}

TEST(RepeatedLayers, AreNotThoseWithAnotherActivation) {
  Chain chain;
  for (int k = 0; k < 7; ++k)
    chain.layer(chain.weight(fmt::format("w{}", k)), k == 3 ? "tanh" : "relu");
  EXPECT_EQ(left_out_of(chain.finish()), 0u) << "three equal layers on each side of another one";
}

TEST(RepeatedLayers, AreNotThoseThatShareAWeightWithOneOther) {
  Chain chain;
  std::vector<TensorId> weights;
  for (int k = 0; k < 7; ++k)
    weights.push_back(k == 5 ? weights[1] : chain.weight(fmt::format("w{}", k)));
  for (const TensorId weight : weights) chain.layer(weight);
  EXPECT_EQ(left_out_of(chain.finish()), 0u);
}

TEST(RepeatedLayers, HaveWeightsThatAreComputedFromConstantsOfTheirOwn) {
  Chain different, shared;
  const TensorId two = shared.constant(2);
  for (int k = 0; k < 7; ++k) {
    different.layer(different.negated(different.constant(k)));
    shared.layer(shared.negated(k == 1 || k == 4 ? two : shared.constant(k)));
  }
  EXPECT_EQ(left_out_of(different.finish()), 6u);
  EXPECT_EQ(left_out_of(shared.finish()), 0u);
}

TEST(RepeatedLayers, AreNotThoseThatALaterLayerReads) {
  Chain chain;
  std::vector<TensorId> results;
  for (int k = 0; k < 7; ++k) results.push_back(chain.layer(chain.weight(fmt::format("w{}", k))));
  chain.append("add", {chain.last(), results[2]});
  chain.append("add", {chain.last(), results[3]});
  EXPECT_EQ(left_out_of(chain.finish()), 0u);
}

TEST(RepeatedLayers, AreNotThoseThatReadOneOfTwoInputs) {
  Chain chain;
  std::vector<TensorId> sides = {chain.append("tanh", {chain.input()}),
                                 chain.append("exp", {chain.input()})};
  for (int k = 0; k < 7; ++k) chain.append("add", {chain.last(), sides[k == 3 ? 1 : 0]});
  EXPECT_EQ(left_out_of(chain.finish()), 0u);
}

TEST(RepeatedLayers, AreLeftOutWithTheirResults) {
  Chain chain;
  std::vector<TensorId> results;
  for (int k = 0; k < 8; ++k) {
    chain.layer(chain.weight(fmt::format("w{}", k)));
    results.push_back(chain.append("tanh", {chain.last()}));
  }
  results.pop_back();
  const PlannedNetwork net = chain.finish(results);
  const PlanDocument plan = planned(net, "data", false, 2);
  const LeftOutLayers left_out = left_out_of(net, plan);
  EXPECT_GE(left_out.nodes, 9u);
  EXPECT_EQ(left_out.results.size(), left_out.nodes / 3);
  const Shorter shorter = without(net, plan, left_out);
  EXPECT_EQ(shorter.net.graph.outputs().size(), 8 - left_out.results.size());
}

TEST(RepeatedLayers, AreNotThoseThatKeepOtherResults) {
  Chain chain;
  std::vector<TensorId> results;
  for (int k = 0; k < 7; ++k) results.push_back(chain.layer(chain.weight(fmt::format("w{}", k))));
  const PlannedNetwork net = chain.finish();
  std::vector<bool> is_kept(net.graph.tensor_bound(), true);
  is_kept[results[3].index()] = false;
  EXPECT_EQ(
      repeated_layers({net.graph, net.is_weight, is_kept}, planned(net, "data", false, 2)).nodes,
      0u);
}

}  // namespace
}  // namespace soapstone::parallel
