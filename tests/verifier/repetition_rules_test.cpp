// Rules about repetitions are stated, not believed: here one of each step is proved.
#include "rules/repetition/repetition.h"

#include "rules/repetition/flattened_rows.h"

#include "tests/rules/repetition_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class RepetitionProofs : public testing::TestWithParam<rules::RepetitionGraph> {};

TEST_P(RepetitionProofs, AreFound) {
  expect_steps_proved(rules::find_repetition(graph_of(rules::repetition_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, RepetitionProofs, testing::ValuesIn(rules::kRepetitionGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class FlattenedProofs : public testing::TestWithParam<rules::RepetitionGraph> {};

TEST_P(FlattenedProofs, AreFound) {
  expect_steps_proved(rules::find_flattened_rows(graph_of(rules::repetition_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, FlattenedProofs, testing::ValuesIn(rules::kFlattenedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
