// Rules about linear maps are stated, not believed: here one of each step is proved.
#include "rules/linear_maps/linear_maps.h"

#include "tests/rules/linear_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class LinearMapProofs : public testing::TestWithParam<rules::LinearPart> {};

TEST_P(LinearMapProofs, AreFound) {
  expect_steps_proved(rules::find_affine_maps(graph_of(rules::linear_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, LinearMapProofs, testing::ValuesIn(rules::kLinearParts),
                         [](const auto& part) { return std::string(part.param.name); });

TEST(JointMapProofs, AreFound) {
  expect_steps_proved(rules::find_joint_maps(graph_of(rules::kRecurrence)));
}

}  // namespace
}  // namespace soapstone::verifier
