// Rules about moves are stated, not believed: here one of each step is proved.
#include "rules/moves/moves.h"

#include "tests/rules/moving_graphs.h"
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

}  // namespace
}  // namespace soapstone::verifier
