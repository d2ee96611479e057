// Rules that are made for a graph are stated, not believed: here one of each step is proved.
#include "rules/batching/towers.h"

#include "tests/rules/batching_graphs.h"
#include "tests/support/graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class BatchingProofs : public testing::TestWithParam<rules::Lines> {};

TEST_P(BatchingProofs, AreFound) {
  expect_steps_proved(rules::find_towers(graph_of(rules::lifted_graph(GetParam(), 2, true))));
}

INSTANTIATE_TEST_SUITE_P(All, BatchingProofs, testing::ValuesIn(rules::kLiftedLines),
                         [](const auto& lines) { return std::string(lines.param.name); });

TEST(BatchingProofsOfMany, AreFound) {
  for (const int count : {3, 5})
    for (const rules::Lines& lines : rules::kLiftedLines)
      if (lines.name == "product" || lines.name == "norms")
        expect_steps_proved(rules::find_towers(graph_of(rules::lifted_graph(lines, count, true))));
}

}  // namespace
}  // namespace soapstone::verifier
