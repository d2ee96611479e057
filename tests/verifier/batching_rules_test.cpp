// Rules that are made for a graph are stated, not believed: here each of them is proved.
#include "rules/batching/towers.h"

#include "tests/rules/batching_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class BatchingProofs : public testing::TestWithParam<rules::Lines> {};

TEST_P(BatchingProofs, AreFound) {
  const core::Graph graph = graph_of(rules::lifted_graph(GetParam(), 2, true));
  for (const rules::Rule& rule : rules::batching_rules(graph))
    EXPECT_TRUE(proves(rule)) << rules::print(rule);
}

INSTANTIATE_TEST_SUITE_P(All, BatchingProofs, testing::ValuesIn(rules::kLiftedLines),
                         [](const auto& lines) { return std::string(lines.param.name); });

TEST(BatchingProofsOfMany, AreFound) {
  for (const int count : {3, 5})
    for (const rules::Lines& lines : rules::kLiftedLines) {
      if (lines.name != "product" && lines.name != "norms") continue;
      const core::Graph graph = graph_of(rules::lifted_graph(lines, count, true));
      for (const rules::Rule& rule : rules::batching_rules(graph))
        EXPECT_TRUE(proves(rule)) << rules::print(rule);
    }
}

}  // namespace
}  // namespace soapstone::verifier
