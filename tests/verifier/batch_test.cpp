// Many rules at once: one verdict a rule, the same for any number of threads.
#include "verifier/batch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "tests/support/rules.h"
#include "verifier/refutation/parameter_values.h"

namespace soapstone::verifier {
namespace {

/// Proved, refuted in its second instance, with parameters, plain, refuted.
const char* const kMixed = R"(
rule distributive
  for A in ranks(0..2)
  x: [A.., m, k]   a: [k, n]   b: [k, n]
  source
    s = matmul(x, a)
    t = matmul(x, b)
    y = add(s, t)
  target
    u = add(a, b)
    y = matmul(x, u)

rule doubling_moves_in
  for f in {neg, tanh, abs}
  x: [n]
  source
    t = add(x, x)
    y = f(t)
  target
    u = f(x)
    y = add(u, u)

rule unary_before_transpose
  x: [n, n, n]
  source
    t = transpose(x; perm=[p, q, r])
    y = neg(t)
  target
    u = neg(x)
    y = transpose(u; perm=[p, q, r])

rule scaled
  x: [n, m]   c: [m]
  where m >= 2
  source
    t = mul(x, c)
    y = neg(t)
  target
    u = neg(x)
    y = mul(u, c)

rule not_commutative
  x: [n, n]   a: [n, n]
  source
    y = matmul(x, a)
  target
    y = matmul(a, x)
)";

std::vector<RuleVerdict> run(const std::string& text, BatchOptions options = {}) {
  options.check_sizes = 20;
  return verify_all(rules_of(text, "test.rules"), options, core::silent(), core::StopToken{});
}

TEST(Batch, OneVerdictARule) {
  const auto verdicts = run(kMixed);
  ASSERT_EQ(verdicts.size(), 5U);
  EXPECT_EQ(verdicts[0].rule, "distributive");
  EXPECT_EQ(verdicts[0].file, "test.rules");
  EXPECT_EQ(verdicts[0].line, 2);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kProved);
  EXPECT_EQ(verdicts[0].instances, 3U);
  EXPECT_GE(verdicts[0].floats, rules::FloatBehavior::kReassociates);
  EXPECT_EQ(verdicts[1].kind, VerdictKind::kRefuted);
  EXPECT_EQ(verdicts[1].instance, "doubling_moves_in[f=tanh]") << "the first that is wrong";
  EXPECT_EQ(verdicts[1].instances, 2U) << "the third was not needed";
  EXPECT_TRUE(verdicts[1].refutation);
  EXPECT_EQ(verdicts[2].kind, VerdictKind::kProved) << verdicts[2].reason;
  EXPECT_EQ(verdicts[2].instances, 6U) << "all permutations of three";
  EXPECT_EQ(verdicts[3].kind, VerdictKind::kProved) << verdicts[3].reason;
  EXPECT_THAT(verdicts[3].guard, testing::ElementsAre("m - 2 >= 0"));
  EXPECT_EQ(verdicts[3].floats, rules::FloatBehavior::kExact) << "as numbers show";
  EXPECT_EQ(verdicts[4].kind, VerdictKind::kRefuted);
  EXPECT_FALSE(verdicts[4].refutation->text.empty());
}

TEST(Batch, SaysForWhichTypesAndWhatHappensAtTheirEdges) {
  const auto verdicts = run(kMixed);
  const rules::Edges& sums = verdicts[0].edges;  // distributive
  EXPECT_EQ(verdicts[0].types, rules::FloatTypes::any());
  EXPECT_TRUE(
      sums.has(core::DataType::kFloat16, rules::EdgeEffect::kOverflow,
               rules::EdgeReach::kOrdinary) ||
      sums.has(core::DataType::kFloat16, rules::EdgeEffect::kOverflow, rules::EdgeReach::kExtreme))
      << to_string(sums);
  EXPECT_TRUE(verdicts[1].edges.empty()) << "refuted";
  EXPECT_EQ(to_string(verdicts[3].edges), "none") << "exact";
}

/// A cast to f64 and back is exact for all types that f64 holds; one to f16 only for itself.
TEST(Batch, ARuleWithCastsIsProvedForSomeTypes) {
  const auto rule = [](std::string_view type, std::string_view back) {
    return fmt::format(R"(
rule casts
  x: [n]
  source
    h = cast(x; to="{}")
    g = cast(h; to="{}")
    y = neg(g)
  target
    y = neg(x)
)",
                       type, back);
  };
  const auto wide = run(rule("f64", "f32"));
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_EQ(wide[0].kind, VerdictKind::kProved) << wide[0].reason;
  EXPECT_EQ(wide[0].types, rules::FloatTypes::only({core::DataType::kFloat32}))
      << to_string(wide[0].types);
  const auto narrow = run(rule("f16", "f32"));
  ASSERT_EQ(narrow.size(), 1U);
  EXPECT_NE(narrow[0].kind, VerdictKind::kProved);
}

/// A bound of a clip is compared with another one: a proof holds for the bounds that were tried.
TEST(Batch, SaysForWhichValuesARuleIsProved) {
  const auto verdicts = run(R"(
rule clips
  x: [n]
  source
    t = clip(x; max=b)
    y = clip(t; max=2)
  target
    y = clip(x; max=b)

rule scales
  x: [n]
  source
    t = leaky_relu(x; alpha=a)
    u = neg(t)
    y = neg(u)
  target
    y = leaky_relu(x; alpha=a)

rule pools
  x: [n, c, h, w]
  source
    t = max_pool(x; kernel=[3, 3], strides=[s, s])
    y = relu(t)
  target
    u = relu(x)
    y = max_pool(u; kernel=[3, 3], strides=[s, s])
)");
  ASSERT_EQ(verdicts.size(), 3U);
  for (const RuleVerdict& verdict : verdicts)
    EXPECT_EQ(verdict.kind, VerdictKind::kProved) << verdict.rule << verdict.reason;
  EXPECT_THAT(set_text(verdicts[0].only_values), testing::StartsWith("b in {"));
  EXPECT_GE(verdicts[0].only_values.size(), 3U);
  EXPECT_EQ(set_text(verdicts[1].only_values), "") << "for all numbers at once";
  EXPECT_THAT(set_text(verdicts[2].only_values), testing::StartsWith("s in {"));
}

TEST(Batch, ValuesAreNamedTogether) {
  const std::vector<NamedValues> sets = {
      {{"s", std::int64_t{1}}, {"e", 0.5}}, {{"c", -0.25}}, {{"s", std::int64_t{2}}, {"e", 2.0}}};
  EXPECT_EQ(set_text(sets), "(s, e) in {(1, 0.5), (2, 2)}, c in {-0.25}");
  std::vector<NamedValues> many;
  for (std::int64_t k = 0; k < 40; ++k) many.push_back({{"s", k}, {"t", k}});
  EXPECT_EQ(set_text(many), "40 of (s, t)");
  many.push_back({{"s", std::int64_t{1}}});
  EXPECT_EQ(set_text(many), "40 of (s, t), s in {1}");
}

TEST(Batch, IsTheSameForAnyNumberOfThreads) {
  const auto one = run(kMixed, {.jobs = 1});
  for (const int jobs : {2, 5}) {
    const auto many = run(kMixed, {.jobs = jobs});
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t k = 0; k < one.size(); ++k) {
      EXPECT_EQ(many[k].kind, one[k].kind);
      EXPECT_EQ(many[k].instance, one[k].instance);
      EXPECT_EQ(many[k].instances, one[k].instances);
      EXPECT_EQ(many[k].floats, one[k].floats);
      EXPECT_EQ(many[k].types, one[k].types);
      EXPECT_EQ(many[k].edges, one[k].edges);
      EXPECT_EQ(many[k].guard, one[k].guard);
      ASSERT_EQ(many[k].refutation.has_value(), one[k].refutation.has_value());
      if (one[k].refutation) {
        EXPECT_EQ(many[k].refutation->text, one[k].refutation->text);
      }
    }
  }
}

TEST(Batch, WithoutStepsARuleIsUnknown) {
  BatchOptions options;
  options.verify.max_steps = 1;
  const auto verdicts = run(kMixed, options);
  ASSERT_EQ(verdicts.size(), 5U);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kUnknown);
  EXPECT_EQ(verdicts[0].instance, "distributive[A=0]") << "the first that is unknown";
  EXPECT_FALSE(verdicts[0].reason.empty());
  EXPECT_GT(verdicts[0].check_sizes, 0) << "numbers were compared all the same";
  EXPECT_EQ(verdicts[1].kind, VerdictKind::kRefuted) << "an example needs no proof";
}

TEST(Batch, SizesThatNothingSatisfiesProveNothing) {
  const auto verdicts = run(R"(
rule impossible
  x: [n, n]   a: [n, n]
  where 2*n = 3
  source
    y = matmul(x, a)
  target
    y = matmul(a, x)
)");
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kUnknown);
  EXPECT_FALSE(verdicts[0].reason.empty());
}

TEST(Batch, AGridHasNoValueTwice) {
  const auto all = rules_of(kMixed);
  for (const rules::Rule& rule : all) {
    const auto grid = parameter_grid(rule, 4);
    EXPECT_EQ(grid.size(), rule.parameters.empty() ? 1U : 4U);
    EXPECT_EQ(std::set(grid.begin(), grid.end()).size(), grid.size());
    EXPECT_EQ(parameter_grid(rule, 4), grid);
  }
}

TEST(Batch, StopsWhenAskedTo) {
  core::StopToken stop;
  stop.request_stop();
  EXPECT_TRUE(verify_all(rules_of(kMixed), {}, core::silent(), stop).empty());
}

/// Asks to stop once so many rules were begun.
class StopAfter final : public core::ProgressSink {
 public:
  StopAfter(std::uint64_t count, core::StopToken& stop) : count_(count), stop_(stop) {}
  void stage(std::string_view) override {}
  void update(std::uint64_t done, std::uint64_t, std::string_view) override {
    if (done + 1 >= count_) stop_.request_stop();
  }
  void log(core::LogLevel, std::string_view) override {}

 private:
  std::uint64_t count_;
  core::StopToken& stop_;
};

TEST(Batch, GivesWhatWasFinished) {
  core::StopToken stop;
  StopAfter sink(4, stop);  // within the second rule
  const auto verdicts = verify_all(rules_of(kMixed), {.jobs = 1, .check_sizes = 20}, sink, stop);
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kProved);
}

TEST(Batch, ASecondLookMakesARuleUnknownAndNoOther) {
  std::atomic<int> asked = 0;
  BatchOptions options;
  options.make_second_look = [&] {
    return [&](const rules::Rule& rule) -> SecondLookResult {
      EXPECT_TRUE(rule.parameters.empty());
      ++asked;
      return {7, rule.base_name == "unary_before_transpose" ? "it differs" : ""};
    };
  };
  const auto verdicts = run(kMixed, options);
  ASSERT_EQ(verdicts.size(), 5U);
  EXPECT_EQ(verdicts[0].second_sizes, 3 * 7);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kProved);
  EXPECT_EQ(verdicts[1].disagreement, "");
  EXPECT_EQ(verdicts[2].disagreement, "it differs");
  EXPECT_EQ(verdicts[2].kind, VerdictKind::kUnknown);
  EXPECT_THAT(verdicts[2].reason, testing::HasSubstr("it differs"));
  EXPECT_THAT(verdicts[2].instance, testing::StartsWith("unary_before_transpose with p = "));
  EXPECT_EQ(verdicts[3].kind, VerdictKind::kProved);
  EXPECT_EQ(verdicts[4].kind, VerdictKind::kRefuted);
  EXPECT_GE(asked, 5) << "three instances, neg of the second rule, the first permutation";
}

// Proofs under a guard that nobody wrote.

constexpr std::string_view kSumOfRows = "  x: [n, m]\n{}  source\n"
                                        "    y = reduce_sum(x; axes=[0], keep_dims=1)\n  target\n"
                                        "    y = reduce_sum(x; axes=[1], keep_dims=1)\n";

RuleVerdict sum_of_rows(const std::string& where) {
  std::string text = "rule r\n" + std::string(kSumOfRows);
  text.replace(text.find("{}"), 2, where);
  const auto verdicts = run(text);
  EXPECT_EQ(verdicts.size(), 1U);
  return verdicts.empty() ? RuleVerdict() : verdicts[0];
}

TEST(UnwrittenGuard, OfTrivialSizesIsNoProof) {
  const RuleVerdict verdict = sum_of_rows("");
  EXPECT_EQ(verdict.kind, VerdictKind::kRefuted);
  EXPECT_THAT(verdict.saving_guard, testing::ElementsAre("n = 1", "m = 1"));
  ASSERT_TRUE(verdict.refutation);
  EXPECT_EQ(verdict.refutation->text,
            "it holds only where n = 1, m = 1; write `where n = 1, m = 1` if that is meant");
  EXPECT_FALSE(verdict.refutation->sizes.empty());
}

TEST(UnwrittenGuard, IsFineOnceItIsWritten) {
  EXPECT_EQ(sum_of_rows("  where n = 1, m = 1\n").kind, VerdictKind::kProved);
  const RuleVerdict half = sum_of_rows("  where n = 1\n");
  EXPECT_EQ(half.kind, VerdictKind::kRefuted);
  EXPECT_THAT(half.saving_guard, testing::ElementsAre("m = 1"));
}

TEST(UnwrittenGuard, OfEqualSizesIsNoProofEither) {
  const auto verdicts = run(R"(
rule flipped
  x: [n, m]
  source
    t = transpose(x; perm=[1, 0])
    y = reshape(t; shape=[n*m])
  target
    y = reshape(x; shape=[m*n])

rule same_shape
  x: [n, m]   z: [m, k]
  source
    y = matmul(x, z)
  target
    zz = concat(z, z; axis=1)
    t = matmul(x, zz)
    y = slice(t; axes=[1], starts=[0], sizes=[k], steps=[1])

rule added
  x: [n, p]   z: [m, p]
  source
    t = concat(x, z; axis=0)
    y = reduce_sum(t; axes=[0])
  target
    s = add(x, z)
    y = reduce_sum(s; axes=[0])
)");
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kRefuted);
  EXPECT_EQ(verdicts[1].kind, VerdictKind::kProved) << verdicts[1].reason;
  EXPECT_EQ(verdicts[2].kind, VerdictKind::kRefuted);
  EXPECT_THAT(verdicts[2].saving_guard, testing::ElementsAre("n = m"));
}

// Numbers that a proof excludes, or that only rounding tells apart.

TEST(Batch, NumbersLookAtNoEmptyTensor) {
  const auto verdicts = run(R"(
rule maximum_of_the_rest
  x: [n, m]
  source
    s = slice(x; axes=[0], starts=[1], sizes=[n - 1], steps=[1])
    t = reduce_sum(s; axes=[0])
    u = exp(t)
    y = log(u)
  target
    s2 = slice(x; axes=[0], starts=[1], sizes=[n - 1], steps=[1])
    y = reduce_sum(s2; axes=[0])

rule missing_values
  x: [n]
  source
    a = log(x)
    b = sub(a, a)
    y = exp(b)
  target
    z = sub(x, x)
    y = exp(z)

rule nearly_less
  x: [n]   z: [n]
  source
    a = div(x, z)
    b = mul(a, z)
    y = less(b, x)
  target
    y = less(x, x)

rule wrong
  x: [n]
  source
    y = exp(x)
  target
    y = tanh(x)
)");
  ASSERT_EQ(verdicts.size(), 4U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(verdicts[k].kind, VerdictKind::kProved) << verdicts[k].rule << verdicts[k].reason;
    EXPECT_EQ(verdicts[k].disagreement, "");
  }
  EXPECT_EQ(verdicts[3].kind, VerdictKind::kRefuted);
}

}  // namespace
}  // namespace soapstone::verifier
