#include "verifier/proof/verify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/clock.h"
#include "tests/support/rules.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {
namespace {

Verdict verdict_on(const rules::Rule& rule) {
  rules::Rule concrete = rule;
  if (!rule.parameters.empty()) {
    const auto values = rules::sample_parameters(rule, 1);
    EXPECT_TRUE(values.ok()) << rule.name;
    auto specialized = rules::specialize(rule, *values);
    EXPECT_TRUE(specialized.ok()) << rule.name;
    concrete = *std::move(specialized);
  }
  const auto solver = make_z3_solver();
  return verify(concrete, *solver, {});
}

Verdict verdict_on(const std::string& text) { return verdict_on(rule_of(text)); }

struct Case {
  const char* name;
  const char* inputs;
  const char* source;
  const char* target;
  VerdictKind expected;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr Case kCases[] = {
    {"associative", "x: [m, k]  a: [k, n]  b: [n, p]", "t = matmul(x, a)\n    y = matmul(t, b)",
     "u = matmul(a, b)\n    y = matmul(x, u)", VerdictKind::kProved},
    {"not_commutative", "x: [n, n]  a: [n, n]", "y = matmul(x, a)", "y = matmul(a, x)",
     VerdictKind::kRefuted},
    {"distributive", "x: [m, k]  a: [k, n]  b: [k, n]",
     "s = matmul(x, a)\n    t = matmul(x, b)\n    y = add(s, t)",
     "u = add(a, b)\n    y = matmul(x, u)", VerdictKind::kProved},
    {"sum_is_not_product", "x: [m, k]  a: [k, n]  b: [k, n]",
     "s = matmul(x, a)\n    t = matmul(x, b)\n    y = add(s, t)",
     "u = mul(a, b)\n    y = matmul(x, u)", VerdictKind::kRefuted},
    {"transpose_twice", "x: [m, n]",
     "t = transpose(x; perm=[1, 0])\n    y = transpose(t; perm=[1, 0])", "y = x",
     VerdictKind::kProved},
    {"relu_is_idempotent", "x: [m, n]", "t = relu(x)\n    y = relu(t)", "y = relu(x)",
     VerdictKind::kProved},
    {"relu_is_not_additive", "x: [m]  z: [m]", "s = relu(x)\n    t = relu(z)\n    y = add(s, t)",
     "u = add(x, z)\n    y = relu(u)", VerdictKind::kRefuted},
    // Sizes are numbers, and some of them products of others by chance.
    {"rows_of_numbers", "x: [1, 64, 4, 32]",
     "r = reshape(x; shape=[1, 64, 128])\n"
     "    y = slice(r; axes=[1], starts=[63], sizes=[1], steps=[1])",
     "s = slice(x; axes=[1], starts=[63], sizes=[1], steps=[1])\n"
     "    y = reshape(s; shape=[1, 1, 128])",
     VerdictKind::kProved},
    {"heads_as_many_as_rows", "x: [1, 8, 128, 16]",
     "t = transpose(x; perm=[0, 2, 1, 3])\n    y = reshape(t; shape=[1, 128, 128])",
     "r = reshape(x; shape=[8, 128, 16])\n    s = transpose(r; perm=[1, 0, 2])\n"
     "    y = reshape(s; shape=[1, 128, 128])",
     VerdictKind::kProved},
    {"halves_of_a_sum_of_numbers", "x: [2, 64, 64]  w: [2, 128, 1]",
     "t = transpose(x; perm=[1, 0, 2])\n    r = reshape(t; shape=[64, 128])\n"
     "    y = matmul(r, w)",
     "v = reshape(w; shape=[2, 2, 64])\n    s = einsum(x, v; equation=\"abc,dac->db\")\n"
     "    y = reshape(s; shape=[2, 64, 1])",
     VerdictKind::kProved},
    {"order_of_numbers", "x: [1, 64, 4, 32]", "y = reshape(x; shape=[1, 64, 128])",
     "t = transpose(x; perm=[0, 1, 3, 2])\n    y = reshape(t; shape=[1, 64, 128])",
     VerdictKind::kRefuted},
    {"compared_sums", "x: [n]  z: [n]  c: [n]",
     "a = add(x, c)\n    b = add(c, z)\n    y = less(a, b)", "y = less(x, z)",
     VerdictKind::kProved},
    {"compared_differences", "x: [n]  z: [n]  c: [n]",
     "a = sub(c, x)\n    b = sub(c, z)\n    y = less(a, b)", "y = less(z, x)",
     VerdictKind::kProved},
    {"compared_differences_turn", "x: [n]  z: [n]  c: [n]",
     "a = sub(c, x)\n    b = sub(c, z)\n    y = less(a, b)", "y = less(x, z)",
     VerdictKind::kRefuted},
    {"equal_products_of_positive", "x: [n]  z: [n]  c: [n]",
     "e = exp(c)\n    a = mul(x, e)\n    b = mul(z, e)\n    y = equal(a, b)", "y = equal(x, z)",
     VerdictKind::kProved},
    {"compared_products_of_any", "x: [n]  z: [n]  c: [n]",
     "a = mul(x, c)\n    b = mul(z, c)\n    y = less(a, b)", "y = less(x, z)",
     VerdictKind::kRefuted},
    {"compared_exponentials", "x: [n]  z: [n]", "a = exp(x)\n    b = exp(z)\n    y = less(a, b)",
     "y = less(x, z)", VerdictKind::kProved},
    {"compared_to_one", "x: [n]",
     "o = full(; shape=[], value=1.0)\n    a = exp(x)\n    y = less(o, a)",
     "z = full(; shape=[], value=0.0)\n    y = less(z, x)", VerdictKind::kProved},
    {"compared_squares", "x: [n]  z: [n]", "a = mul(x, x)\n    b = mul(z, z)\n    y = less(a, b)",
     "y = less(x, z)", VerdictKind::kRefuted},
    {"split_of_concat", "x: [m, n]  z: [m, p]",
     "c = concat(x, z; axis=1)\n    u, v = split(c; axis=1, sizes=[n, p])\n    y = neg(u)\n    w = "
     "neg(v)",
     "y = neg(x)\n    w = neg(z)", VerdictKind::kProved},
    {"exchanged_results", "x: [m, n]  z: [m, n]",
     "c = concat(x, z; axis=1)\n    u, v = split(c; axis=1, sizes=[n, n])\n    y = neg(u)\n    w = "
     "neg(v)",
     "y = neg(z)\n    w = neg(x)", VerdictKind::kRefuted},
    {"slice_off_by_one", "x: [n + 2]", "y = slice(x; axes=[0], starts=[0], sizes=[n], steps=[1])",
     "y = slice(x; axes=[0], starts=[1], sizes=[n], steps=[1])", VerdictKind::kRefuted},
    {"exp_of_sum", "x: [n]  z: [n]", "s = add(x, z)\n    y = exp(s)",
     "t = exp(x)\n    u = exp(z)\n    y = mul(t, u)", VerdictKind::kProved},
};

class VerdictTest : public ::testing::TestWithParam<Case> {};

TEST_P(VerdictTest, IsAsExpected) {
  const Case& c = GetParam();
  const Verdict verdict = verdict_on(rule_text(c.inputs, c.source, c.target));
  EXPECT_EQ(to_string(verdict.kind), to_string(c.expected)) << verdict.reason;
  EXPECT_EQ(verdict.refutation.has_value(), c.expected == VerdictKind::kRefuted);
}
INSTANTIATE_TEST_SUITE_P(All, VerdictTest, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

/// The sums inside the convolution's softmax can be matched with each other in exponentially many
/// ways, none of which is a proof.
rules::Rule with_nested_sums() {
  return rule_of("x: [n, c, h, w]  a: [c, c, 3, 3]",
                 "t = conv(x, a; pads=[1, 1, 1, 1])\n    y = softmax(t; axis=2)",
                 "y = softmax(x; axis=2)");
}

TEST(Verify, EndsOnNestedSumsThatDiffer) {
  const rules::Rule rule = with_nested_sums();
  const auto solver = make_z3_solver();
  const double start = core::process_cpu_s();
  EXPECT_NE(attempt_proof(rule, *solver, {}), "");
  EXPECT_LT(core::process_cpu_s() - start, 60);  // 1 s; more with sanitizers
}

TEST(Verify, EndsAfterSoManyPairsOfExpressions) {
  const rules::Rule rule =
      rule_of("x: [m, k]  a: [k, n]  b: [n, p]", "t = matmul(x, a)\n    y = matmul(t, b)",
              "u = matmul(a, b)\n    y = matmul(x, u)");
  const auto solver = make_z3_solver();
  const Verdict proved = verify(rule, *solver, {});
  ASSERT_EQ(proved.kind, VerdictKind::kProved) << proved.reason;
  ASSERT_GT(proved.pairs, 0U);
  VerifyOptions options;
  options.max_pairs = proved.pairs;
  EXPECT_EQ(verify(rule, *solver, options).kind, VerdictKind::kProved);
  options.max_pairs = proved.pairs - 1;
  const Verdict ended = verify(rule, *solver, options);
  EXPECT_EQ(ended.kind, VerdictKind::kUnknown);
  EXPECT_EQ(ended.reason, "too many pairs of expressions to match");
  EXPECT_EQ(ended.pairs, options.max_pairs);
}

TEST(Verify, EndsWithinItsPairsOnNestedSumsThatDiffer) {
  const rules::Rule rule = with_nested_sums();
  const auto solver = make_z3_solver();
  const std::uint64_t most = verify(rule, *solver, {}).pairs;
  ASSERT_GT(most, 1U);
  VerifyOptions options;
  options.max_pairs = most / 2;
  const Verdict verdict = verify(rule, *solver, options);
  EXPECT_NE(verdict.kind, VerdictKind::kProved);
  EXPECT_EQ(verdict.pairs, options.max_pairs);
  EXPECT_EQ(attempt_proof(rule, *solver, options), "too many pairs of expressions to match");
}

TEST(Verify, EndsWhenItIsStopped) {
  const rules::Rule rule = with_nested_sums();
  const auto solver = make_z3_solver();
  VerifyOptions options;
  constexpr int kMostAsked = 100;  // of thousands
  int asked = 0;
  options.stopped = [&] { return ++asked > kMostAsked; };
  EXPECT_EQ(attempt_proof(rule, *solver, options), kProofStopped);
  EXPECT_EQ(asked, kMostAsked + 1) << "it goes no further";
  options.stopped = [] { return true; };
  const Verdict verdict =
      verify(rule_of("x: [n]", "a = neg(x)\n    y = neg(a)", "y = relu(x)"), *solver, options);
  EXPECT_EQ(verdict.kind, VerdictKind::kUnknown) << verdict.reason;
}

/// tests/cli/belief_test.py proves all files.
TEST(ShippedRules, AreNeverRefutedAndMostlyProved) {
  int proved = 0;
  int all = 0;
  for (const char* name : {"contraction.rules", "elementwise.rules"}) {
    const auto file =
        rules::read_rules(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules" / name);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    for (const rules::Rule& rule : file->rules) {
      const Verdict verdict = verdict_on(rule);
      EXPECT_NE(verdict.kind, VerdictKind::kRefuted) << rule.name;
      proved += verdict.kind == VerdictKind::kProved ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(proved, all * 4 / 5) << proved << " of " << all;
}

}  // namespace
}  // namespace soapstone::verifier
