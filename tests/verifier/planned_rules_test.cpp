// Rules of single plans are stated, not believed: here each of them is proved.
#include "tests/transforms/planned_graphs.h"

#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class PlannedProofs : public testing::TestWithParam<transforms::PlannedGraph> {};

TEST_P(PlannedProofs, AreFound) {
  expect_steps_proved(GetParam().find(graph_of(transforms::planned_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, PlannedProofs, testing::ValuesIn(transforms::kPlannedGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
