// Rules for towers side by side are stated, not believed: here each of them is proved.
#include "rules/blocks/blocks.h"

#include "tests/rules/block_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class BlockProofs : public testing::TestWithParam<rules::BlockGraph> {};

TEST_P(BlockProofs, AreFound) {
  expect_steps_proved(rules::find_blocks(graph_of(rules::block_graph(GetParam()))));
}

INSTANTIATE_TEST_SUITE_P(All, BlockProofs, testing::ValuesIn(rules::kBlockGraphs),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace soapstone::verifier
