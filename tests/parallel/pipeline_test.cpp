// Cuts of a pipeline against all cuts.
#include <gtest/gtest.h>

#include <random>

#include "parallel/step/pipeline.h"
#include "parallel/step/step_time.h"

namespace soapstone::parallel {
namespace {

using SlownessOfStages = std::vector<double>;

double slowest(const std::vector<PipelineNode>& nodes, const std::vector<std::size_t>& begins,
               const SlownessOfStages& slowness) {
  double result = 0;
  for (std::size_t s = 0; s < begins.size(); ++s) {
    const bool is_last = s + 1 == begins.size();
    const std::size_t end = is_last ? nodes.size() : begins[s + 1];
    double us = is_last ? 0 : nodes[end - 1].handover_us;
    for (std::size_t k = begins[s]; k < end; ++k)
      us += slowness[s] * nodes[k].us + nodes[k].exchange_us;
    result = std::max(result, us);
  }
  return result;
}

double least_by_trying_all(const std::vector<PipelineNode>& nodes, const SlownessOfStages& slowness,
                           std::vector<std::size_t>& begins) {
  const std::size_t stages = slowness.size();
  if (begins.size() == stages) return slowest(nodes, begins, slowness);
  double least = 1e300;
  for (std::size_t next = begins.back() + 1; next + (stages - begins.size()) <= nodes.size();
       ++next) {
    begins.push_back(next);
    least = std::min(least, least_by_trying_all(nodes, slowness, begins));
    begins.pop_back();
  }
  return least;
}

TEST(Pipeline, CutsAreTheBest) {
  std::mt19937 random(5);
  for (int k = 0; k < 300; ++k) {
    std::vector<PipelineNode> nodes(1 + random() % 10);
    for (PipelineNode& node : nodes)
      node = {static_cast<double>(random() % 50), static_cast<double>(random() % 20),
              static_cast<double>(random() % 10)};
    const std::size_t stages = 1 + random() % nodes.size();
    SlownessOfStages slowness;
    for (std::size_t s = 0; s < stages; ++s)
      slowness.push_back(static_cast<double>(1 + random() % 4) / 2);
    std::vector<std::size_t> begins{0};
    const double least = least_by_trying_all(nodes, slowness, begins);
    const PipelineCut cut = cut_pipeline(nodes, stages, 1, slowness);
    ASSERT_EQ(cut.begins.size(), stages);
    ASSERT_NEAR(cut.slowest_us, least, 1e-6) << "pipeline " << k;
  }
}

TEST(Pipeline, FasterStagesHaveMoreInProportionToTheirRates) {
  const std::vector<PipelineNode> nodes(8, {10, 0});
  const PipelineCut cut = cut_pipeline(nodes, 2, 1, std::vector<double>{1.0 / 3, 1});
  EXPECT_EQ(cut.begins, (std::vector<std::size_t>{0, 6}));
  EXPECT_NEAR(cut.slowest_us, 20, 1e-6);
}

TEST(Pipeline, PiecesOfAStageAddUp) {
  const std::vector<PipelineNode> nodes(8, {10, 1});
  const PipelineCut cut = cut_pipeline(nodes, 2, 2);
  EXPECT_EQ(cut.begins, (std::vector<std::size_t>{0, 2, 4, 6}));
  EXPECT_DOUBLE_EQ(cut.slowest_us, 42);  // Four nodes, two handovers; the last piece has none.
}

TEST(Pipeline, StagesHaveBegunAsManyMicrobatchesAsTheScheduleSays) {
  MeshShape shape;
  shape.stages = 4;
  shape.microbatches = 16;
  EXPECT_EQ(microbatches_in_flight(shape, 0), 4);
  EXPECT_EQ(microbatches_in_flight(shape, 3), 1);
  shape.chunks =
      2;  // Two pieces for each of three stages behind, four of the first round, one more.
  EXPECT_EQ(microbatches_in_flight(shape, 0), 5.5);
  EXPECT_EQ(microbatches_in_flight(shape, 3), 2.5);
  shape.microbatches = 4;
  EXPECT_EQ(microbatches_in_flight(shape, 0), 4);
}

}  // namespace
}  // namespace soapstone::parallel
