// What is kept for gradients in a layer of GPT whose sequence is cut is what V. Korthikanti et al.,
// "Reducing Activation Recomputation in Large Transformer Models" (2022), section 4.2, count: with
// scores of attention computed again 34·s·b·h/t bytes, two of them for masks of dropout, which our
// networks do not have.
#include <gtest/gtest.h>

#include "parallel/planning/mesh_evaluation.h"
#include "parallel/planning/named.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {
namespace {

constexpr std::int64_t kTokens = 2048, kSamples = 4, kChannels = 6144, kPieces = 8;
constexpr double kElements = kTokens * kSamples * kChannels;

/// Bytes on each device, at a price of memory.
double kept_in_a_layer(const std::string& strategy, double us_per_byte, bool keeps_pieces) {
  const PlannedNetwork net = network("gpt", {{"batch", kSamples},
                                             {"layers", 3},
                                             {"seq", kTokens},
                                             {"positions", kTokens},
                                             {"hidden", kChannels},
                                             {"heads", 64},
                                             {"vocabulary", 51200}});
  const Topology machine = topology("dgx-a100x1");
  MeshPlanOptions options;
  options.is_training = true;
  options.precision = core::DataType::kFloat16;
  options.attention = Attention::kRecomputed;
  options.freedom = (*named_strategy(strategy))->freedom;
  options.freedom.keeps_pieces = keeps_pieces;
  const MeshEvaluator evaluator(net.graph, net.is_weight, machine, options);
  MeshShape shape;
  shape.model = kPieces;
  const MeshPlan plan = evaluator.plan_at(options.freedom, shape, {us_per_byte});
  EXPECT_LT(plan.sharding.cost_us, kImpossible);
  double bytes = 0;
  for (const core::NodeId id : net.graph.order())
    if (net.graph.node(id).name.starts_with("layer1/"))
      bytes += plan.sharding.costs[id.index()].kept_bytes;
  return bytes;
}

constexpr double kHighPrice = 1e-3;

TEST(KeptActivations, OfCutSequencesAreThoseOfTheClosedForm) {
  EXPECT_DOUBLE_EQ(kept_in_a_layer("megatron-sp", kHighPrice, false), kElements * 32 / kPieces);
}

/// As Megatron does it, whatever memory costs.
TEST(KeptActivations, AreThePiecesWhereTheStrategySaysSo) {
  EXPECT_DOUBLE_EQ(kept_in_a_layer("megatron-sp", 0, true), kElements * 32 / kPieces);
}

/// Where there is room, both inputs that are gathered are kept rather than gathered once more.
TEST(KeptActivations, HoldWhatWasGatheredWhereMemoryIsFree) {
  const double gathered = 2 * kElements * (1 - 1.0 / kPieces);
  EXPECT_DOUBLE_EQ(kept_in_a_layer("megatron-sp", 0, false),
                   kElements * 32 / kPieces + 2 * gathered);
}

}  // namespace
}  // namespace soapstone::parallel
