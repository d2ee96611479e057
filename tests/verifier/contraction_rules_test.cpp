// Rules about the order of products are stated, not believed: here each of them is proved.
#include "rules/contractions/contractions.h"

#include "rules/contractions/factored_sums.h"
#include "rules/contractions/shared_operands.h"

#include "tests/rules/contraction_graphs.h"
#include "tests/rules/sum_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class ContractionProofs : public testing::TestWithParam<rules::ProductGraph> {};

TEST_P(ContractionProofs, AreFound) {
  expect_steps_proved(rules::find_contractions(graph_of(rules::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ContractionProofs, testing::ValuesIn(rules::kProductGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class ScaledProofs : public testing::TestWithParam<rules::ProductGraph> {};

TEST_P(ScaledProofs, AreFound) {
  expect_steps_proved(rules::find_scaled_products(graph_of(rules::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ScaledProofs, testing::ValuesIn(rules::kScaledGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class StridedProofs : public testing::TestWithParam<rules::ProductGraph> {};

TEST_P(StridedProofs, AreFound) {
  expect_steps_proved(rules::find_strided_products(graph_of(rules::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, StridedProofs, testing::ValuesIn(rules::kStridedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class SumProofs : public testing::TestWithParam<rules::ProductGraph> {};

TEST_P(SumProofs, AreFound) {
  expect_steps_proved(rules::find_factored_sums(graph_of(rules::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, SumProofs, testing::ValuesIn(rules::kSumGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class SharedProofs : public testing::TestWithParam<rules::ProductGraph> {};

TEST_P(SharedProofs, AreFound) {
  expect_steps_proved(rules::find_shared_operands(graph_of(rules::product_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, SharedProofs, testing::ValuesIn(rules::kSharedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
