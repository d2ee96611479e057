// Rules about pieces, parts, sums and chosen rows are stated, not believed: here one of each step
// is proved.
#include "rules/demand/demand.h"

#include "rules/demand/readings.h"
#include "rules/demand/separation.h"

#include "tests/rules/demand_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class DemandProofs : public testing::TestWithParam<rules::DemandGraph> {};

TEST_P(DemandProofs, AreFound) {
  expect_steps_proved(rules::find_demand(graph_of(rules::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, DemandProofs, testing::ValuesIn(rules::kDemandGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class ReadingProofs : public testing::TestWithParam<rules::DemandGraph> {};

TEST_P(ReadingProofs, AreFound) {
  expect_steps_proved(rules::find_readings(graph_of(rules::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ReadingProofs, testing::ValuesIn(rules::kReadingGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

class SeparationProofs : public testing::TestWithParam<rules::DemandGraph> {};

TEST_P(SeparationProofs, AreFound) {
  expect_steps_proved(rules::find_separation(graph_of(rules::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, SeparationProofs, testing::ValuesIn(rules::kSeparationGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
