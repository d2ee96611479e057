// Rules about pieces, parts, sums and chosen rows are stated, not believed: here one of each step
// is proved.
#include "transforms/restrict/demand.h"

#include "transforms/restrict/readings.h"
#include "transforms/restrict/separation.h"

#include "tests/support/graphs.h"
#include "tests/transforms/demand_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class DemandProofs : public testing::TestWithParam<transforms::DemandGraph> {};

TEST_P(DemandProofs, AreFound) {
  expect_steps_proved(transforms::find_demand(graph_of(transforms::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, DemandProofs, testing::ValuesIn(transforms::kDemandGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class ReadingProofs : public testing::TestWithParam<transforms::DemandGraph> {};

TEST_P(ReadingProofs, AreFound) {
  expect_steps_proved(transforms::find_readings(graph_of(transforms::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ReadingProofs, testing::ValuesIn(transforms::kReadingGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class SeparationProofs : public testing::TestWithParam<transforms::DemandGraph> {};

TEST_P(SeparationProofs, AreFound) {
  expect_steps_proved(transforms::find_separation(graph_of(transforms::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, SeparationProofs, testing::ValuesIn(transforms::kSeparationGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
