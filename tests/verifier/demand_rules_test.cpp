// Rules about pieces and sums are stated, not believed: here one of each step is proved.
#include "rules/demand/demand.h"

#include "rules/demand/averages.h"

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

class AverageProofs : public testing::TestWithParam<rules::DemandGraph> {};

TEST_P(AverageProofs, AreFound) {
  expect_steps_proved(rules::find_averages(graph_of(rules::demand_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, AverageProofs, testing::ValuesIn(rules::kAverageGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
