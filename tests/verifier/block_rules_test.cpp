// Rules for towers side by side are stated, not believed: here each of them is proved.
#include "transforms/pack/blocks.h"

#include "tests/support/graphs.h"
#include "tests/transforms/block_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class BlockProofs : public testing::TestWithParam<transforms::BlockGraph> {};

TEST_P(BlockProofs, AreFound) {
  expect_steps_proved(transforms::find_blocks(graph_of(transforms::block_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, BlockProofs, testing::ValuesIn(transforms::kBlockGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
