// Rules about moves are stated, not believed: here one of each step is proved.
#include "transforms/layout_changes/moves.h"

#include "tests/support/graphs.h"
#include "tests/transforms/moving_graphs.h"
#include "tests/transforms/padded_graphs.h"
#include "tests/verifier/proves.h"
#include "transforms/layout_changes/moved_pads.h"

namespace soapstone::verifier {
namespace {

class MoveProofs : public testing::TestWithParam<transforms::MovingGraph> {};

TEST_P(MoveProofs, AreFound) {
  expect_steps_proved(transforms::find_moves(graph_of(transforms::moving_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, MoveProofs, testing::ValuesIn(transforms::kMovingGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class PadProofs : public testing::TestWithParam<transforms::PaddedGraph> {};

TEST_P(PadProofs, AreFound) {
  expect_steps_proved(transforms::find_moved_pads(graph_of(std::string(GetParam().text))));
}

INSTANTIATE_TEST_SUITE_P(All, PadProofs, testing::ValuesIn(transforms::kPaddedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
