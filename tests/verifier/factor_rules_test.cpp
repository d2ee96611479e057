// Rules about factors are stated, not believed: here each of them is proved.
#include "rules/contractions/factors.h"

#include "tests/rules/factor_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class FactorProofs : public testing::TestWithParam<rules::FactorGraph> {};

TEST_P(FactorProofs, AreFound) {
  expect_steps_proved(rules::find_factors(graph_of(rules::factor_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, FactorProofs, testing::ValuesIn(rules::kFactorGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
