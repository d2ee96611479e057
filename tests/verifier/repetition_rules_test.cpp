// Rules about repetitions are stated, not believed: here one of each step is proved.
#include "transforms/broadcasts/repetition.h"

#include "transforms/broadcasts/flattened_rows.h"

#include "tests/support/graphs.h"
#include "tests/transforms/repetition_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class RepetitionProofs : public testing::TestWithParam<transforms::RepetitionGraph> {};

TEST_P(RepetitionProofs, AreFound) {
  expect_steps_proved(
      transforms::find_repetition(graph_of(transforms::repetition_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, RepetitionProofs, testing::ValuesIn(transforms::kRepetitionGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class FlattenedProofs : public testing::TestWithParam<transforms::RepetitionGraph> {};

TEST_P(FlattenedProofs, AreFound) {
  expect_steps_proved(
      transforms::find_flattened_rows(graph_of(transforms::repetition_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, FlattenedProofs, testing::ValuesIn(transforms::kFlattenedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
