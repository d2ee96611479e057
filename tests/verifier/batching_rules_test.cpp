// Rules that are made for a graph are stated, not believed: here one of each step is proved.
#include "transforms/pack/towers.h"

#include "tests/support/graphs.h"
#include "tests/transforms/batching_graphs.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class BatchingProofs : public testing::TestWithParam<transforms::Lines> {};

TEST_P(BatchingProofs, AreFound) {
  expect_steps_proved(
      transforms::find_towers(graph_of(transforms::lifted_graph(GetParam(), 2, true))));
}

INSTANTIATE_TEST_SUITE_P(All, BatchingProofs, testing::ValuesIn(transforms::kLiftedLines),
                         [](const auto& lines) { return std::string(lines.param.name); });

TEST(BatchingProofsOfMany, AreFound) {
  for (const int count : {3, 5})
    for (const transforms::Lines& lines : transforms::kLiftedLines)
      if (lines.name == "product" || lines.name == "norms")
        expect_steps_proved(
            transforms::find_towers(graph_of(transforms::lifted_graph(lines, count, true))));
}

TEST(BatchingProofsOfSums, AreFoundBesideOthers) {
  const std::string sum =
      "  a = add(z, y1)\n  b = add(a, y2)\n  c = add(b, z)\n  d = add(c, y3)\n  return d\n";
  for (const std::string_view each : {"  y# = exp(x#)\n", "  y# = mul(x#, w#)\n"}) {
    std::string text = transforms::branches(3, "  x#: f32[3, 2]\n  w#: f32[3, 1]\n", each, sum);
    text.insert(text.find('\n') + 1, "  z: f32[3, 2]\n");
    const auto towers = transforms::find_towers(graph_of(text));
    EXPECT_EQ(towers.size(), 1U);
    expect_steps_proved(towers);
  }
}

}  // namespace
}  // namespace soapstone::verifier
