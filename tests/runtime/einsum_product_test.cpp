// What an einsum is as a batch of matrix products, and what may stand behind it in one launch.
#include "runtime/launches/einsum_product.h"

#include "runtime/launches/fusion_rules.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

using Spread = EinsumProduct::Spread;

constexpr Spread kNumber{false, false, false}, kColumns{false, false, true},
    kRows{false, true, false}, kBatchColumns{true, false, true}, kAll{true, true, true};

/// An einsum of one node.
class Case {
 public:
  Case(const std::string& left, const std::string& right, const std::string& equation)
      : graph_(parse("\n  x: f32" + left + "\n  w: f32" + right +
                     "\n  y = einsum(x, w; equation=\"" + equation + "\")\n  return y\n")),
        product_(EinsumProduct::of(graph_.node(graph_.order()[0]))) {}

  bool is_product() const { return product_.has_value(); }
  bool lies_as_computed() const { return product_->lies_as_computed(result()); }
  std::optional<Spread> spread(const core::Dims& operand) const {
    return product_->spread(core::to_shape(operand), result());
  }

 private:
  const core::Shape& result() const { return graph_.tensor(graph_.outputs()[0]).type.shape; }

  core::Graph graph_;
  std::optional<EinsumProduct> product_;
};

TEST(EinsumProduct, IsAProductOfTwoMatrices) {
  EXPECT_TRUE(Case("[2, 3]", "[3, 4]", "ab,bc->ac").is_product());
  EXPECT_TRUE(Case("[2]", "[3]", "a,b->ba").is_product());
  EXPECT_TRUE(Case("[2, 3]", "[2, 3]", "ab,ab->").is_product());
  EXPECT_FALSE(Case("[2, 2]", "[2, 3]", "aa,ab->ab").is_product());  // a diagonal
  EXPECT_FALSE(Case("[2, 5]", "[2, 3]", "ac,ab->ab").is_product());  // summed in one alone
  EXPECT_FALSE(Case("[2, 3]", "[2, 5]", "ab,ac->ab").is_product());
  const core::Graph matmul = parse("\n  x: f32[2, 3]\n  w: f32[3, 4]\n  y = matmul(x, w)\n"
                                   "  return y\n");
  EXPECT_FALSE(EinsumProduct::of(matmul.node(matmul.order()[0])).has_value());
}

TEST(EinsumProduct, OperandsVaryWithWholeDimensionsOfIt) {
  const Case heads("[2, 3, 4, 5]", "[2, 3, 5, 6]", "abcd,abde->abce");
  EXPECT_TRUE(heads.lies_as_computed());
  EXPECT_EQ(heads.spread({}), kNumber);
  EXPECT_EQ(heads.spread({1, 1, 1, 1}), kNumber);
  EXPECT_EQ(heads.spread({6}), kColumns);
  EXPECT_EQ(heads.spread({4, 1}), kRows);
  EXPECT_EQ(heads.spread({2, 3, 1, 6}), kBatchColumns);
  EXPECT_EQ(heads.spread({2, 3, 4, 6}), kAll);
  // A part of the batch, and what oneDNN has no kernel for.
  EXPECT_EQ(heads.spread({3, 1, 6}), std::nullopt);
  EXPECT_EQ(heads.spread({2, 1, 1, 6}), std::nullopt);
  EXPECT_EQ(heads.spread({2, 3, 1, 1}), std::nullopt);
  EXPECT_EQ(heads.spread({2, 3, 4, 1}), std::nullopt);
  EXPECT_EQ(heads.spread({4, 6}), std::nullopt);
}

TEST(EinsumProduct, TheOrderOfElementsIsThatOfTheProduct) {
  const Case turned("[4, 5]", "[5, 6]", "ab,bc->ca");
  EXPECT_FALSE(turned.lies_as_computed());
  EXPECT_EQ(turned.spread({6, 4}), std::nullopt);
  EXPECT_EQ(turned.spread({4}), kRows);
  EXPECT_EQ(turned.spread({6, 1}), kColumns);
  const Case mixed("[4, 7, 5]", "[5, 6, 8]", "abc,cde->adbe");
  EXPECT_FALSE(mixed.lies_as_computed());
  EXPECT_EQ(mixed.spread({6, 1, 8}), kColumns);
  EXPECT_EQ(mixed.spread({4, 1, 7, 1}), kRows);
  EXPECT_EQ(mixed.spread({4, 6, 7, 8}), std::nullopt);
}

TEST(EinsumProduct, DimensionsOfSizeOneAreNoObstacle) {
  const Case one("[1, 4, 5]", "[5, 6]", "abc,cd->dba");
  EXPECT_FALSE(one.lies_as_computed());
  const Case row("[1, 5]", "[5, 6]", "ab,bc->ca");
  EXPECT_TRUE(row.lies_as_computed());
  EXPECT_EQ(row.spread({6, 1}), kColumns);
  // One matrix is a batch as well, so what varies with rows and columns is like the result.
  const Case single("[1, 4, 5]", "[1, 5, 6]", "abc,acd->abd");
  EXPECT_EQ(single.spread({4, 6}), kAll);
  EXPECT_EQ(single.spread({1, 4, 1}), kRows);
  // One column: a number for each row is all there is.
  const Case column("[3, 4, 5]", "[3, 5]", "abc,ac->ab");
  EXPECT_EQ(column.spread({3, 1}), kBatchColumns);
  EXPECT_EQ(column.spread({3, 4}), kAll);
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
            (Kinds{EpilogueKind::kBatchBias, EpilogueKind::kScale, EpilogueKind::kActivation,
                   EpilogueKind::kResidual, EpilogueKind::kActivation}));
  EXPECT_EQ(steps_behind(batch + "  z = sub(y, b)\n  t = div(z, c)\n  return t\n"),
            (Kinds{EpilogueKind::kBatchBias, EpilogueKind::kScale}));
  EXPECT_EQ(steps_behind(batch + "  z = sub(y, c)\n  return z\n"), Kinds{EpilogueKind::kBias});
  // No quotient by it, no difference or product with a tensor like it.
  EXPECT_EQ(steps_behind(batch + "  z = sub(b, y)\n  return z\n"), Kinds{});
  EXPECT_EQ(steps_behind(batch + "  z = sub(y, r)\n  return z\n"), Kinds{});
  EXPECT_EQ(steps_behind(batch + "  z = mul(y, r)\n  return z\n"), Kinds{});
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
