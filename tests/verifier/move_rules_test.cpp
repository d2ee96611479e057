// Rules about moves are stated, not believed: here one of each step is proved.
#include "rules/moves/moves.h"

#include "rules/moves/moved_pads.h"
#include "tests/rules/moving_graphs.h"
#include "tests/rules/padded_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class MoveProofs : public testing::TestWithParam<rules::MovingGraph> {};

TEST_P(MoveProofs, AreFound) {
  expect_steps_proved(rules::find_moves(graph_of(rules::moving_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, MoveProofs, testing::ValuesIn(rules::kMovingGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class PadProofs : public testing::TestWithParam<rules::PaddedGraph> {};

TEST_P(PadProofs, AreFound) {
  expect_steps_proved(rules::find_moved_pads(graph_of(std::string(GetParam().text))));
}

INSTANTIATE_TEST_SUITE_P(All, PadProofs, testing::ValuesIn(rules::kPaddedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
