// Einsums that are one batch of matrix products, and what stands behind them in one launch.
#include "ops/parts/product_labels.h"
#include "runtime/launches/fusion_rules.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

std::string in_order(const std::string& equation) {
  const auto labels = ops::product_labels(*ops::EinsumEquation::parse(equation));
  return labels ? labels->in_order() + "|" + labels->summed : "none";
}

TEST(EinsumProduct, LabelsSayWhatIsBatchRowColumnAndSummed) {
  EXPECT_EQ(in_order("ab,bc->ac"), "ac|b");
  EXPECT_EQ(in_order("ab,bc->ca"), "ac|b");
  EXPECT_EQ(in_order("a,b->ba"), "ab|");
  EXPECT_EQ(in_order("ab,ab->"), "|ab");
  EXPECT_EQ(in_order("bqhd,bkhd->bhqk"), "bhqk|d");
  EXPECT_EQ(in_order("aa,ab->ab"), "none");  // a diagonal
  EXPECT_EQ(in_order("ac,ab->ab"), "none");  // summed in one alone
  EXPECT_EQ(in_order("ab,ac->ab"), "none");
  EXPECT_EQ(in_order("ab->ba"), "none");
  EXPECT_EQ(in_order("a,a,b->ab"), "none");
}

/// The kinds of the steps in the launch of an einsum, of two operands, that stands first.
std::vector<EpilogueKind> steps_behind(const std::string& body, Fusion fusion = Fusion::kFull) {
  const core::Graph graph = parse(body);
  std::vector<EpilogueKind> kinds;
  for (const Launch& launch : plan_launches(graph, generic_fusion(fusion)).launches)
    if (launch.head == graph.order().front())
      for (const EpilogueStep& step : launch.epilogue) kinds.push_back(step.kind);
  return kinds;
}

constexpr const char* kBatch = "\n  x: f32[3, 4, 5]\n  w: f32[3, 5, 6]\n  b: f32[3, 1, 6]\n"
                               "  c: f32[4, 1]\n  s: f32[]\n  r: f32[3, 4, 6]\n"
                               "  y = einsum(x, w; equation=\"abc,acd->abd\")\n";

TEST(EinsumProduct, LaunchesTakeWhatStandsBehindIt) {
  using Kinds = std::vector<EpilogueKind>;
  const std::string batch = kBatch;
  EXPECT_EQ(steps_behind(batch + "  z = add(y, b)\n  t = mul(z, s)\n  u = relu(t)\n"
                                 "  v = add(u, r)\n  q = tanh(v)\n  return q\n"),
            (Kinds{EpilogueKind::kBias, EpilogueKind::kScale, EpilogueKind::kActivation,
                   EpilogueKind::kResidual, EpilogueKind::kActivation}));
  EXPECT_EQ(steps_behind(batch + "  z = sub(y, b)\n  t = div(z, c)\n  return t\n"),
            (Kinds{EpilogueKind::kBias, EpilogueKind::kScale}));
  EXPECT_EQ(steps_behind(batch + "  z = sub(y, c)\n  return z\n"), Kinds{EpilogueKind::kBias});
  EXPECT_EQ(steps_behind(batch + "  z = sub(y, r)\n  return z\n"), Kinds{EpilogueKind::kBias});
  EXPECT_EQ(steps_behind(batch + "  z = mul(r, y)\n  return z\n"), Kinds{EpilogueKind::kScale});
  // Where the result comes second, it is no difference from the result; two of a kind are one too
  // many.
  EXPECT_EQ(steps_behind(batch + "  z = sub(b, y)\n  return z\n"), Kinds{});
  EXPECT_EQ(steps_behind(batch + "  z = add(y, b)\n  t = add(z, c)\n  return t\n"),
            Kinds{EpilogueKind::kBias});
  // What makes the result larger is no step.
  EXPECT_EQ(steps_behind(batch + "  l: f32[2, 3, 4, 6]\n  z = add(y, l)\n  return z\n"), Kinds{});
  // A result that somebody else reads is stored.
  EXPECT_EQ(steps_behind(batch + "  z = relu(y)\n  return z, y\n"), Kinds{});
  EXPECT_EQ(steps_behind(batch + "  z = relu(y)\n  return z\n", Fusion::kActivation), Kinds{});
}

TEST(EinsumProduct, OtherEinsumsAreLaunchesOfTheirOwn) {
  EXPECT_TRUE(steps_behind("\n  x: f32[3, 4]\n  y = einsum(x; equation=\"ab->ba\")\n"
                           "  z = relu(y)\n  return z\n")
                  .empty());
  EXPECT_TRUE(steps_behind("\n  x: f32[3]\n  w: f32[3]\n  v: f32[3]\n"
                           "  y = einsum(x, w, v; equation=\"a,a,b->ab\")\n"
                           "  z = relu(y)\n  return z\n")
                  .empty());
}

/// The reference executor runs the same launches.
TEST(EinsumProduct, ReferenceComputesTheSame) {
  const core::Graph graph =
      parse(std::string(kBatch) + "  z = add(y, b)\n  t = mul(z, c)\n  u = sigmoid(t)\n"
                                  "  v = add(u, r)\n  return v\n");
  const auto reference = make_reference_backend();
  for (const Fusion fusion : {Fusion::kNone, Fusion::kFull})
    expect_right(graph, *reference, fusion, 1e-6);
}

}  // namespace
}  // namespace soapstone::runtime::test
