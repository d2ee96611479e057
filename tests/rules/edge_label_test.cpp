// The effects of rules at the edges of floating types: the trials find them, and the label says so.
#include <filesystem>
#include <map>

#include "rules/floats/rounded_side.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

using core::DataType;
using enum EdgeEffect;
constexpr EdgeReach kFar = EdgeReach::kExtreme, kNear = EdgeReach::kOrdinary;
constexpr int kTries = 3000;  // as verify-rules does

Edges edges_of(const Rule& rule) {
  const auto report = check(rule, 4, 1, kTries);
  if (!report) ADD_FAILURE() << rule.name << ": " << report.error().to_string();
  return report ? report->edges : Edges();
}

Edges edges_of(std::string_view text) { return edges_of(rules_of(text).at(0)); }

FloatBehavior floats_of(std::string_view text) {
  const auto report = check(rules_of(text).at(0), 4, 1, kTries);
  return report.ok() ? report->floats : FloatBehavior::kExact;
}

/// The first instance of a shipped rule.
const Rule& shipped(const std::string& name) {
  static const std::vector<Rule> kRules = [] {
    auto file = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
    return file.ok() ? std::move(file->rules) : std::vector<Rule>();
  }();
  for (const Rule& rule : kRules)
    if (rule.base_name == name) return rule;
  ADD_FAILURE() << "no rule " << name;
  return kRules.at(0);
}

bool overflows_or_vanishes(const Edges& edges) {
  return std::ranges::any_of(edges.all(), [](const Edge& edge) {
    return edge.effect == kOverflow || edge.effect == kUnderflow;
  });
}

TEST(RoundsOnce, WhereNoComputedNumberIsComputedWith) {
  const Rule rule = rules_of(R"(rule heads
  x: [n, m]   a: [m, k]   b: [m]
  source
    xb = mul(x, b)
    y = matmul(xb, a)
  target
    t = transpose(x; perm=[1, 0])
    xba = einsum(t, b, a; equation="ab,a,ac->bc")
    y = reshape(xba; shape=[n, k])
)")
                        .at(0);
  EXPECT_FALSE(rounds_once(rule.source));
  EXPECT_TRUE(rounds_once(rule.target));
}

TEST(EdgeLabel, ProductsInAnotherOrderOverflowFarOutInF32AndNearInF16) {
  for (const char* name :
       {"associate_matmuls_right", "associate_matmuls_left", "scale_out_of_lhs", "scale_into_lhs",
        "scale_into_filters_and_bias", "fold_batch_norm_into_conv", "batch_norm_into_conv"}) {
    const Edges edges = edges_of(shipped(name));
    EXPECT_TRUE(edges.has(DataType::kFloat32, kOverflow, kFar)) << name << to_string(edges);
    EXPECT_TRUE(edges.has(DataType::kBFloat16, kOverflow, kFar)) << name << to_string(edges);
    EXPECT_TRUE(edges.has(DataType::kFloat16, kOverflow, kNear)) << name << to_string(edges);
    EXPECT_EQ(range_behavior(edges, DataType::kFloat32), FloatBehavior::kExact) << name;
    EXPECT_EQ(range_behavior(edges, DataType::kFloat64), FloatBehavior::kExact) << name;
    EXPECT_EQ(range_behavior(edges, DataType::kFloat16), FloatBehavior::kChangesRange) << name;
  }
}

TEST(EdgeLabel, TheSameProductsSideBySideDoNot) {
  for (const char* name :
       {"merge_matmuls_sharing_lhs", "merge_linear_layers", "transpose_of_matmul",
        "concat_of_convs_as_groups", "relu_of_non_negative", "square"}) {
    // Sums that cancel may still differ where a product of the largest numbers is rounded.
    const Edges edges = edges_of(shipped(name));
    for (const DataType type : kEdgeTypes)
      EXPECT_EQ(range_behavior(edges, type), FloatBehavior::kExact)
          << name << ": " << to_string(edges);
  }
}

/// (x + y) + z in another order overflows in f16 only beside its largest number.
TEST(EdgeLabel, SumsOverflowBesideTheLargestNumberOnly) {
  const Edges edges = edges_of(R"(
rule sums
  x: [n]  y: [n]  z: [n]
  source
    t = add(x, y)
    r = add(t, z)
  target
    u = add(y, z)
    r = add(x, u)
)");
  for (const DataType type : kEdgeTypes) {
    EXPECT_TRUE(edges.has(type, kOverflow, kFar)) << to_string(edges);
    EXPECT_EQ(range_behavior(edges, type), FloatBehavior::kExact) << to_string(edges);
  }
}

/// The model computes sums as if exactly; two kernels that add up in different orders do not.
TEST(EdgeLabel, DifferentOperatorsAddInDifferentOrders) {
  const Edges edges = edges_of(R"(
rule mean_of_image
  x: [n, c, h, w]
  source
    t = global_average_pool(x)
    y = neg(t)
  target
    m = reduce_mean(x; axes=[2, 3])
    y = neg(m)
)");
  for (const DataType type : kEdgeTypes) {
    EXPECT_TRUE(edges.has(type, kOverflow, kFar)) << to_string(edges);
    EXPECT_TRUE(edges.has(type, kRecovers, kFar)) << to_string(edges);
  }
  EXPECT_FALSE(overflows_or_vanishes(edges_of(R"(
rule mean_of_negated
  x: [n, m]
  source
    t = reduce_mean(x; axes=[1])
    y = neg(t)
  target
    u = neg(x)
    y = reduce_mean(u; axes=[1])
)")));
}

constexpr std::string_view kUnstable = R"(
rule unstable
  x: [n]
  results r, y
  source
    r = relu(x)
    y = neg(r)
  target
    r1 = relu(x)
    e = exp(r1)
    r = log(e)
    y = neg(r)
)";

constexpr std::string_view kStable = R"(
rule stable
  x: [n]
  results r, y
  source
    r1 = relu(x)
    e = exp(r1)
    r = log(e)
    y = neg(r)
  target
    r = relu(x)
    y = neg(r)
)";

TEST(EdgeLabel, DirectionMatters) {
  EXPECT_EQ(floats_of(kUnstable), FloatBehavior::kChangesRange);
  EXPECT_EQ(floats_of(kStable), FloatBehavior::kExtendsRange);
  for (const DataType type : kEdgeTypes) {
    EXPECT_TRUE(edges_of(kUnstable).has(type, kOverflow, kNear));
    EXPECT_FALSE(overflows_or_vanishes(edges_of(kStable)));
    EXPECT_TRUE(edges_of(kStable).has(type, kRecovers, kNear));
  }
}

TEST(EdgeLabel, SmallFactorsVanishInF16) {
  const Edges edges = edges_of(R"(
rule quotients
  x: [n]  y: [n]  z: [n]
  source
    t = div(x, y)
    r = div(t, z)
  target
    yz = mul(y, z)
    r = div(x, yz)
)");
  EXPECT_TRUE(edges.has(DataType::kFloat16, kUnderflow, kNear)) << to_string(edges);
  EXPECT_TRUE(edges.has(DataType::kFloat32, kUnderflow, kFar)) << to_string(edges);
}

TEST(EdgeLabel, TellsWhatBecomesOfNanInfinityAndTheSignOfZero) {
  const Edges eye = edges_of(R"(
rule identity_product
  x: [n, n]
  source
    e = eye(; shape=[n, n])
    y = matmul(x, e)
  target
    y = x
)");
  EXPECT_TRUE(eye.has(DataType::kFloat32, kDropsNan, kNear)) << to_string(eye);
  EXPECT_FALSE(eye.has(DataType::kFloat32, kNan, kNear)) << to_string(eye);
  const Edges sign = edges_of(R"(
rule difference
  x: [n]  y: [n]
  source
    d = sub(x, y)
    r = neg(d)
  target
    r = sub(y, x)
)");
  EXPECT_EQ(to_string(sign), "zero-sign");
}

/// A rule of x alone, or of x and z.
Edges edges_of_sides(const std::string& source, const std::string& target,
                     const std::string& type = "f32") {
  std::string inputs = "x: " + type + "[n]";
  if (source.find('z') != std::string::npos) inputs += "  z: " + type + "[n]";
  return edges_of("rule drawn\n  " + inputs + "\n  results y\n  source\n    " + source +
                  "\n  target\n    " + target + "\n");
}

TEST(EdgeLabel, DecisionsBesideNanAreOtherValues) {
  struct Case {
    const char* source;
    const char* target;
  };
  for (const auto& [source, target] :
       {Case{"t = less(x, z)\n    y = not(t)", "y = less_or_equal(z, x)"},
        Case{"t = equal(x, z)\n    y = not(t)",
             "t = less(x, z)\n    u = less(z, x)\n    y = max(t, u)"},
        Case{"t = less(x, z)\n    y = where(t, x, z)",
             "t = less_or_equal(z, x)\n    y = where(t, z, x)"},
        Case{"t = less(x, z)\n    y = cast(t; to=\"i64\")",
             "t = less_or_equal(z, x)\n    u = not(t)\n    y = cast(u; to=\"i64\")"}}) {
    for (const char* type : {"f32", "f16", "f64"}) {
      const Edges edges = edges_of_sides(source, target, type);
      EXPECT_TRUE(edges.has(DataType::kFloat32, kOtherValue, kNear) ||
                  edges.has(DataType::kFloat32, kDropsNan, kNear))
          << source << type << ": " << to_string(edges);
    }
  }
}

/// Their neighbors, which are right, say nothing.
TEST(EdgeLabel, DecisionsThatAreTheSameBesideNanAreNot) {
  EXPECT_EQ(
      to_string(edges_of_sides("y = less(x, z)", "u = neg(x)\n    v = neg(z)\n    y = less(v, u)")),
      "none");
  EXPECT_EQ(to_string(edges_of_sides("t = equal(x, z)\n    u = not(t)\n    y = not(u)",
                                     "y = equal(z, x)")),
            "none");
  EXPECT_EQ(to_string(edges_of_sides("t = less(x, z)\n    y = where(t, x, z)",
                                     "t = less(x, z)\n    u = not(t)\n    y = where(u, z, x)")),
            "none");
}

TEST(EdgeLabel, EqualityOfInfinitiesIsTried) {
  const Edges edges =
      edges_of_sides("y = equal(x, z)", "d = sub(x, z)\n    o = sub(d, d)\n    y = equal(d, o)");
  for (const DataType type : kEdgeTypes)
    EXPECT_TRUE(edges.has(type, kOtherValue, kNear)) << to_string(edges);
}

/// A machine may cast NaN and numbers beyond the range to anything: as good as NaN.
TEST(EdgeLabel, CastsToIntegersOfWhatIsNoInteger) {
  const Edges makes = edges_of_sides("t = floor(x)\n    y = relu(t)",
                                     "t = floor(x)\n    i = cast(t; to=\"i64\")\n    u = cast(i; "
                                     "to=\"f32\")\n    y = relu(u)");
  EXPECT_TRUE(makes.has(DataType::kFloat32, kNan, kNear)) << to_string(makes);
  EXPECT_TRUE(makes.has(DataType::kFloat32, kOverflow, kFar)) << to_string(makes);
  const Edges twice = edges_of_sides("i = cast(x; to=\"i32\")\n    y = cast(i; to=\"i64\")",
                                     "y = cast(x; to=\"i64\")");
  EXPECT_TRUE(twice.has(DataType::kFloat32, kOtherValue, kNear)) << to_string(twice);
  EXPECT_EQ(
      to_string(edges_of_sides("t = floor(x)\n    y = cast(t; to=\"i64\")",
                               "t = floor(x)\n    u = floor(t)\n    y = cast(u; to=\"i64\")")),
      "none");
}

/// exp(x) < exp(z) is false where both are infinite, or 0.
TEST(EdgeLabel, DecisionsAboutWhatOverflows) {
  const std::string exps = "a = exp(x)\n    b = exp(z)\n    y = less(a, b)";
  const Edges loses = edges_of_sides("y = less(x, z)", exps);
  const Edges recovers = edges_of_sides(exps, "y = less(x, z)");
  for (const DataType type : kEdgeTypes) {
    EXPECT_TRUE(loses.has(type, kUnderflow, kNear)) << to_string(loses);
    EXPECT_TRUE(recovers.has(type, kRecovers, kNear)) << to_string(recovers);
  }
  const Edges choice = edges_of_sides(
      "t = less(x, z)\n    n = neg(x)\n    y = where(t, x, n)",
      "a = exp(x)\n    b = exp(z)\n    t = less(a, b)\n    n = neg(x)\n    y = where(t, x, n)");
  EXPECT_TRUE(choice.has(DataType::kFloat32, kUnderflow, kNear)) << to_string(choice);
}

/// A comparison that is rounded in another way has no edge for it.
TEST(EdgeLabel, RoundingOfWhatIsComparedIsNoEdge) {
  const Edges edges = edges_of_sides("s = add(x, z)\n    t = add(s, x)\n    y = less(t, z)",
                                     "s = add(x, x)\n    t = add(s, z)\n    y = less(t, z)");
  EXPECT_FALSE(edges.has(DataType::kFloat32, kOtherValue, kNear)) << to_string(edges);
  EXPECT_EQ(range_behavior(edges, DataType::kFloat32), FloatBehavior::kExact) << to_string(edges);
}

TEST(EdgeLabel, TextIsTheSameWhenItIsReadAgain) {
  for (const char* text :
       {"none", "nan, zero-sign, other-value", "f16 other-value", "overflow", "extreme overflow",
        "extreme overflow, f16 overflow", "f32 extreme overflow, f16 overflow",
        "f16 overflow, f16 underflow, zero-sign",
        ("extreme overflow, f32 overflow, f16 overflow, bf16 extreme recovers, nan, drops-nan, "
         "f16 infinity")}) {
    const auto edges = parse_edges(text);
    ASSERT_TRUE(edges.ok()) << edges.error().to_string();
    EXPECT_EQ(to_string(*edges), text);
  }
  for (const char* text :
       {"", "f32", "extreme", "f64 overflow", "overflows", "none, nan", "nan,"}) {
    const auto edges = parse_edges(text);
    EXPECT_FALSE(edges.ok()) << text;
  }
}

TEST(EdgeLabel, TypesText) {
  for (const char* text : {"any", "none", "f32", "f32, f64, bf16"}) {
    const auto types = parse_float_types(text);
    ASSERT_TRUE(types.ok()) << text;
    EXPECT_EQ(to_string(*types), text);
  }
  EXPECT_FALSE(parse_float_types("i64").ok());
  EXPECT_FALSE(parse_float_types("f32,").ok());
  const FloatTypes two = FloatTypes::only({DataType::kFloat64, DataType::kFloat32});
  EXPECT_TRUE(two.hold_for(DataType::kFloat64));
  EXPECT_FALSE(two.hold_for(DataType::kFloat16));
  EXPECT_EQ(two & FloatTypes::any(), two);
  EXPECT_EQ(FloatTypes::any() & FloatTypes::only({DataType::kFloat32}),
            FloatTypes::only({DataType::kFloat32}));
  EXPECT_FALSE((two & FloatTypes()).known());
  EXPECT_FALSE(FloatTypes::any().hold_for(DataType::kInt64));
}

/// A graph where inputs of a rule have different floating types is no match: no proof is about it.
TEST(EdgeLabel, AMatchHasOneFloatingType) {
  constexpr std::string_view kRule = R"(
rule casts
  x: [n]  y: [n]
  results r
  source
    u = cast(x; to="f32")
    v = cast(y; to="f32")
    r = add(u, v)
  target
    u = cast(x; to="f32")
    v = cast(y; to="f32")
    r = add(v, u)
)";
  const auto graph = [](std::string_view x, std::string_view y) {
    return "graph g\n  x: " + std::string(x) + "[3]\n  y: " + std::string(y) +
           "[3]\n  u = cast(x; to=\"f32\")\n  v = cast(y; to=\"f32\")\n  r = add(u, v)\n  return "
           "r\n";
  };
  EXPECT_TRUE(all_matches(kRule, graph("f16", "f64")).empty());
  const auto same = all_matches(kRule, graph("f16", "f16"));
  ASSERT_FALSE(same.empty());
  EXPECT_EQ(same[0].match.float_type, DataType::kFloat16);
}

}  // namespace
}  // namespace soapstone::rules
