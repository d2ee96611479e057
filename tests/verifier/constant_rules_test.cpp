// Rules about constants of sums and products, and about quotients: here each of them is proved.
#include "transforms/contract/constant_terms.h"
#include "transforms/contract/quotients.h"

#include "tests/support/graphs.h"
#include "tests/transforms/constant_graphs.h"
#include "tests/transforms/quotient_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class ConstantProofs : public testing::TestWithParam<transforms::ConstantGraph> {};
class QuotientProofs : public testing::TestWithParam<transforms::QuotientGraph> {};

TEST_P(ConstantProofs, AreFound) {
  expect_steps_proved(
      transforms::find_constant_terms(graph_of(transforms::constant_graph(GetParam()))));
}

TEST_P(QuotientProofs, AreFound) {
  expect_steps_proved(transforms::find_quotients(graph_of(transforms::quotient_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ConstantProofs, testing::ValuesIn(transforms::kConstantGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });
INSTANTIATE_TEST_SUITE_P(All, QuotientProofs, testing::ValuesIn(transforms::kQuotientGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
