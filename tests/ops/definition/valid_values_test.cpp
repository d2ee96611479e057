// The integers that a graph admits in its tensors.
#include "ops/definition/valid_values.h"

#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

std::optional<ValueRange> range_of(std::string_view body, std::string_view name) {
  const core::Graph graph = parse("graph g\n" + std::string(body)).value();
  const auto ranges = valid_values(graph);
  for (const core::TensorId id : graph.inputs())
    if (graph.tensor(id).name == name) return ranges[id.index()];
  return std::nullopt;
}

TEST(ValidValues, OfAnIndexAreThePlacesFromBothEnds) {
  const char* body = "  x: f32[5, 2]\n  i: i64[3]\n  y = gather(x, i; axis=0)\n  return y\n";
  EXPECT_EQ(range_of(body, "i"), (ValueRange{-5, 5}));
  EXPECT_EQ(range_of(body, "x"), std::nullopt);
}

TEST(ValidValues, OfTwoReadersAreThoseOfBoth) {
  const char* body = "  x: f32[5]\n  z: f32[3]\n  i: i64[3]\n  a = gather(x, i; axis=0)\n"
                     "  b = gather(z, i; axis=0)\n  y = add(a, b)\n  return y\n";
  EXPECT_EQ(range_of(body, "i"), (ValueRange{-3, 3}));
}

TEST(ValidValues, GoThroughWhatOnlyMoves) {
  const char* body = "  x: f32[5]\n  i: i32[2, 2]\n  j: i32[4]\n  f = reshape(i; shape=[4])\n"
                     "  k = concat(f, j; axis=0)\n  y = gather(x, k; axis=0)\n  return y\n";
  EXPECT_EQ(range_of(body, "i"), (ValueRange{-5, 5}));
  EXPECT_EQ(range_of(body, "j"), (ValueRange{-5, 5}));
}

TEST(ValidValues, AreNotKnownBehindArithmetic) {
  const char* body = "  x: f32[5]\n  i: i64[2]\n  j: i64[2]\n  k = add(i, j)\n"
                     "  y = gather(x, k; axis=0)\n  return y\n";
  EXPECT_EQ(range_of(body, "i"), std::nullopt);
}

TEST(ValidValues, OfALabelAreTheClasses) {
  for (const char* ignored : {"", "; ignore_index=[-1]"}) {
    const std::string call = "  y = nll_loss(x, t" + std::string(ignored) + ")\n";
    EXPECT_EQ(range_of("  x: f32[2, 3]\n  t: i64[2]\n" + call + "  return y\n", "t"),
              (ValueRange{0, 3}));
  }
}

}  // namespace
}  // namespace soapstone::ops::test
