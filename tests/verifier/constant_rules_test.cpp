// Rules about constants of sums and products, and about quotients: here each of them is proved.
#include "rules/contractions/constant_terms.h"
#include "rules/contractions/quotients.h"

#include "tests/rules/constant_graphs.h"
#include "tests/rules/quotient_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class ConstantProofs : public testing::TestWithParam<rules::ConstantGraph> {};
class QuotientProofs : public testing::TestWithParam<rules::QuotientGraph> {};

TEST_P(ConstantProofs, AreFound) {
  expect_steps_proved(rules::find_constant_terms(graph_of(rules::constant_graph(GetParam()))));
}

TEST_P(QuotientProofs, AreFound) {
  expect_steps_proved(rules::find_quotients(graph_of(rules::quotient_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, ConstantProofs, testing::ValuesIn(rules::kConstantGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });
INSTANTIATE_TEST_SUITE_P(All, QuotientProofs, testing::ValuesIn(rules::kQuotientGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
