// Rules about linear maps are stated, not believed: here one of each step is proved.
#include "transforms/affine/linear_maps.h"

#include "tests/support/graphs.h"
#include "tests/transforms/linear_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class LinearMapProofs : public testing::TestWithParam<transforms::LinearPart> {};

TEST_P(LinearMapProofs, AreFound) {
  expect_steps_proved(transforms::find_affine_maps(graph_of(transforms::linear_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, LinearMapProofs, testing::ValuesIn(transforms::kLinearParts),
                         [](const auto& part) { return std::string(part.param.name); });

TEST(JointMapProofs, AreFound) {
  expect_steps_proved(transforms::find_joint_maps(graph_of(transforms::kRecurrence)));
}

}  // namespace
}  // namespace soapstone::verifier
