// Rules about the order of products are stated, not believed: here each of them is proved.
#include "transforms/contract/contractions.h"

#include "transforms/contract/factored_sums.h"
#include "transforms/contract/shared_operands.h"

#include "tests/support/graphs.h"
#include "tests/transforms/contraction_graphs.h"
#include "tests/transforms/sum_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class ContractionProofs : public testing::TestWithParam<transforms::ProductGraph> {};

TEST_P(ContractionProofs, AreFound) {
  expect_steps_proved(
      transforms::find_contractions(graph_of(transforms::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ContractionProofs, testing::ValuesIn(transforms::kProductGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class ScaledProofs : public testing::TestWithParam<transforms::ProductGraph> {};

TEST_P(ScaledProofs, AreFound) {
  expect_steps_proved(
      transforms::find_scaled_products(graph_of(transforms::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ScaledProofs, testing::ValuesIn(transforms::kScaledGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class StridedProofs : public testing::TestWithParam<transforms::ProductGraph> {};

TEST_P(StridedProofs, AreFound) {
  expect_steps_proved(
      transforms::find_strided_products(graph_of(transforms::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, StridedProofs, testing::ValuesIn(transforms::kStridedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class SumProofs : public testing::TestWithParam<transforms::ProductGraph> {};

TEST_P(SumProofs, AreFound) {
  expect_steps_proved(
      transforms::find_factored_sums(graph_of(transforms::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, SumProofs, testing::ValuesIn(transforms::kSumGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class SharedProofs : public testing::TestWithParam<transforms::ProductGraph> {};

TEST_P(SharedProofs, AreFound) {
  expect_steps_proved(
      transforms::find_shared_operands(graph_of(transforms::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, SharedProofs, testing::ValuesIn(transforms::kSharedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
