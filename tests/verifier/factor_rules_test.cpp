// Rules about factors are stated, not believed: here each of them is proved.
#include "transforms/contract/factors.h"

#include "tests/support/graphs.h"
#include "tests/transforms/factor_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class FactorProofs : public testing::TestWithParam<transforms::FactorGraph> {};

TEST_P(FactorProofs, AreFound) {
  expect_steps_proved(transforms::find_factors(graph_of(transforms::factor_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, FactorProofs, testing::ValuesIn(transforms::kFactorGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
