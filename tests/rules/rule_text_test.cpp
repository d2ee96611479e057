// Rules as text: printing and reading again, expansion over ranks and values, evidence.
#include <filesystem>
#include <set>

#include "rules/text/evidence.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

void expect_same(const Rule& a, const Rule& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.base_name, b.base_name);
  EXPECT_EQ(a.description, b.description);
  EXPECT_TRUE(same_structure(a.source, b.source)) << print(a) << print(b);
  EXPECT_TRUE(same_structure(a.target, b.target)) << print(a) << print(b);
  EXPECT_EQ(a.source.symbols(), b.source.symbols());
  EXPECT_EQ(a.constant_inputs, b.constant_inputs);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.real_parameters, b.real_parameters);
  ASSERT_EQ(a.guard.size(), b.guard.size()) << print(a);
  for (std::size_t k = 0; k < a.guard.size(); ++k) {
    EXPECT_EQ(a.guard[k].kind, b.guard[k].kind);
    EXPECT_EQ(a.guard[k].expression, b.guard[k].expression);
  }
  EXPECT_EQ(a.floats, b.floats);
  EXPECT_EQ(a.evidence.kind, b.evidence.kind);
  EXPECT_EQ(a.evidence.detail, b.evidence.detail);
}

TEST(RuleText, ShippedRulesPrintAndReadTheSame) {
  auto shipped = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
  ASSERT_TRUE(shipped.ok()) << shipped.error().to_string();
  for (const Rule& rule : shipped->rules) {
    const std::string text = print(rule);
    const std::vector<Rule> again = rules_of(text);
    ASSERT_EQ(again.size(), 1u) << text;
    expect_same(rule, again[0]);
    EXPECT_EQ(print(again[0]), text);
  }
}

TEST(RuleText, ShippedRulesAreExplained) {
  auto shipped = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
  ASSERT_TRUE(shipped.ok());
  std::set<std::string> names;
  for (const Rule& rule : shipped->rules) {
    names.insert(rule.base_name);
    EXPECT_NE(rule.evidence.kind, Evidence::Kind::kNone) << rule.name;
    for (TensorId id : rule.source.inputs())
      EXPECT_LE(rule.source.tensor(id).type.shape.size(), 5u) << rule.name;
  }
  EXPECT_GE(names.size(), 60u);
}

TEST(RuleText, PrintsAnInstanceInFull) {
  const auto rules = rules_of(R"(
# Says why
# in two lines.
rule everything
  for A in ranks(1..1)
  x: [A.., n]  w: [n] constant  i: i64[n]
  c: [2] = {1, -0.5}
  where 2*n <= A1
  results t, y, z
  source
    t = mul(x, w)
    u = leaky_relu(t; alpha=a)
    y = gather(u, i; axis=1)
    z = add(u, u)
  target
    t = mul(w, x)
    u2 = leaky_relu(t; alpha=a)
    y = gather(u2, i; axis=1)
    z = add(u2, u2)
  checked 2^61-1, 20 sizes; floats: exact
)");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(print(rules[0]), R"(# Says why in two lines.
rule "everything[A=1]"
  x: [A1, n]
  w: [n] constant
  i: i64[n]
  where A1 - 2*n >= 0
  results t, y, z
  source
    t = mul(x, w)
    u = leaky_relu(t; alpha=a)
    y = gather(u, i; axis=1)
    z = add(u, u)
  target
    t = mul(w, x)
    u2 = leaky_relu(t; alpha=a)
    y = gather(u2, i; axis=1)
    z = add(u2, u2)
  checked 2^61-1, 20 sizes; floats: exact
)") << "t is a result too, for the head says so; the constant is read by nobody";
}

TEST(RuleText, NamesTensorsThatHaveNone) {
  Rule rule = rules_of(R"(
rule r
  x: [n]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
)")[0];
  core::GraphBuilder builder("", rule.source.symbols());
  const TensorId x = builder.add_input("", rule.source.tensor(rule.source.inputs()[0]).type);
  const TensorId t = (*ops::append(builder, "neg", {x}))[0];
  builder.set_outputs({(*ops::append(builder, "neg", {t}))[0]});
  rule.source = *std::move(builder).finish();
  const auto again = rules_of(print(rule));
  ASSERT_EQ(again.size(), 1u) << print(rule);
  EXPECT_TRUE(same_structure(again[0].source, rule.source));
}

TEST(RuleText, ExpandsRanksAndValuesOutermostFirst) {
  EXPECT_THAT(
      names_of(R"(
rule r
  for f in {relu, tanh}
  for A in ranks(0..1)
  x: [A.., m, A..]
  source
    t = f(x)
    y = concat(t, t; axis=|A|)
  target
    t2 = concat(x, x; axis=|A| + 0)
    y = f(t2)
)"),
      testing::ElementsAre("r[f=relu,A=0]", "r[f=relu,A=1]", "r[f=tanh,A=0]", "r[f=tanh,A=1]"));
}

TEST(RuleText, LeavesOutInstancesThatAConditionExcludes) {
  EXPECT_THAT(names_of(R"(
rule r
  for A in ranks(0..3)
  for B in ranks(0..3)
  x: [A.., m, B..]
  where |A| + |B| <= 1
  source
    y = concat(x; axis=|A|)
  target
    y = x
)"),
              testing::ElementsAre("r[A=0,B=0]", "r[A=0,B=1]", "r[A=1,B=0]"));
}

TEST(RuleText, ExpandsTuplesListsAndTexts) {
  EXPECT_THAT(names_of(R"(
rule r
  for (X, P) in {([a, b], [1, 0]), ([a, b, c], [0, 2, 1])}
  for k in {"none", "tanh"}
  x: X
  source
    t = transpose(x; perm=P)
    y = gelu(t; approximate=k)
  target
    u = gelu(x; approximate=k)
    y = transpose(u; perm=P)
)"),
              testing::ElementsAre("r[X=[a,b],P=[1,0],k=none]", "r[X=[a,b],P=[1,0],k=tanh]",
                                   "r[X=[a,b,c],P=[0,2,1],k=none]",
                                   "r[X=[a,b,c],P=[0,2,1],k=tanh]"));
}

TEST(RuleText, TakesEqualValuesOnce) {
  EXPECT_THAT(names_of(R"(
rule r
  for A in ranks(0..1)
  for S in {[n], [A.., n]}
  x: [A.., n]  s: S
  source
    y = add(x, s)
  target
    y = add(s, x)
)"),
              testing::ElementsAre("r[A=0,S=[n]]", "r[A=1,S=[n]]", "r[A=1,S=[A1,n]]"));
}

TEST(RuleText, WritesOutFamilies) {
  const auto rules = rules_of(R"(
rule r
  for N in {1, 3}
  each i in 1..N  x{i}: [m, n{i}]   # {not a family}
  results x, z{1..N}
  source
    x = concat(x{1..N}; axis=1)
    each i in 1..N  y{i} = relu(x{i})  z{i} = neg(y{i})
  target
    x = concat(x{1..N}; axis=1)
    y = relu(x)
    z = neg(y)
    z{1..N} = split(z; axis=1, sizes=[n{1..N}])
)");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_THAT(print(rules[1]), testing::HasSubstr("x2: [m, n2]"));
  EXPECT_THAT(print(rules[1]), testing::HasSubstr("z3 = neg(y3)"));
  EXPECT_THAT(print(rules[1]),
              testing::HasSubstr("z1, z2, z3 = split(z; axis=1, sizes=[n1, n2, n3])"));
}

TEST(RuleText, FamiliesMayBeEmpty) {
  const auto rules = rules_of(R"(
rule r
  for (A, B, C) in {(0, 1, 0), (1, 0, 0), (0, 0, 1)}
  z: [m, n]
  each i in 1..A  x{i}: [m, k{i}]
  each i in 1..B  y{i}: [m, l{i}]
  each i in 1..C  w{i}: [m, h{i}]
  source
    t = concat(x{1..A}, z, y{1..B}, z, w{1..C}; axis=1)
    u = neg(t)
  target
    v = neg(z)
    each i in 1..A  xn{i} = neg(x{i})
    each i in 1..B  yn{i} = neg(y{i})
    each i in 1..C  wn{i} = neg(w{i})
    u = concat(xn{1..A}, v, yn{1..B}, v, wn{1..C}; axis=1)
)");
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_THAT(print(rules[0]), testing::HasSubstr("t = concat(z, y1, z; axis=1)"));
  EXPECT_THAT(print(rules[1]), testing::HasSubstr("t = concat(x1, z, z; axis=1)"));
  EXPECT_THAT(print(rules[2]), testing::HasSubstr("t = concat(z, z, w1; axis=1)"));
  EXPECT_THAT(print(rules[0]), testing::Not(testing::HasSubstr("xn")));
}

TEST(RuleText, WritesOutNumbersCopiesAndSums) {
  const auto rules = rules_of(R"(
rule r
  x: [3, m]
  results y{0..2}, z
  source
    each i in 0..2  y{i} = slice(x; axes=[0], starts=[{=i}], sizes=[1], steps=[1])
    z = add(y{0..2})
  target
    y{0..2} = split(x; axis=0, sizes=[{3 times 1}])
    z = add(y{0..2})
)");
  ASSERT_EQ(rules.size(), 1u);
  const std::string text = print(rules[0]);
  EXPECT_THAT(text, testing::HasSubstr("y2 = slice(x; axes=[0], sizes=[1], starts=[2]"));
  EXPECT_THAT(text, testing::HasSubstr("split(x; axis=0, sizes=[1, 1, 1])"));
  EXPECT_THAT(text, testing::HasSubstr("z_2 = add(y0, y1)"));
  EXPECT_THAT(text, testing::HasSubstr("z = add(z_2, y2)"));
  EXPECT_EQ(print(rules_of(text)[0]), text);
}

TEST(RuleText, EvaluatesPermutations) {
  const auto rules = rules_of(R"(
rule r
  for P in {[1, 2, 0]}
  x: [a, b, c]
  source
    t = transpose(x; perm=P)
    y = transpose(t; perm=P)
    z = transpose(t; perm=inverse(P))
  target
    y = transpose(x; perm=compose(P, P))
    z = transpose(x; perm=compose(P, inverse(P)))
)");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_THAT(print(rules[0]), testing::HasSubstr("z = transpose(t; perm=[2, 0, 1])"));
  EXPECT_THAT(print(rules[0]), testing::HasSubstr("y = transpose(x; perm=[2, 0, 1])"));
  EXPECT_THAT(print(rules[0]), testing::HasSubstr("z = transpose(x; perm=[0, 1, 2])"));
}

TEST(RuleText, FindsGuardsThatTheSourceDoesNotImply) {
  const auto rules = rules_of(R"(
rule r
  x: [n]  y: [m]
  source
    u = neg(x)
    v = concat(u, y; axis=0)
  target
    t = add(x, y)
    w = neg(t)
    v = concat(w, y; axis=0)
)");
  ASSERT_EQ(rules.size(), 1u);
  ASSERT_EQ(rules[0].guard.size(), 1u);
  EXPECT_EQ(rules[0].guard[0].label, "add.broadcast");
  EXPECT_EQ(rules[0].guard[0].expression.to_string(rules[0].source.symbols()), "n - m");
}

TEST(RuleText, SpecializesParameters) {
  const auto rules = rules_of(R"(
rule r
  x: [n, c, h, w]   a: [o, c, 1, 1]
  source
    t = conv(x, a; strides=[s, s])
    y = neg(t)
  target
    b = neg(a)
    y = conv(x, b; strides=[s, s])
)");
  ASSERT_EQ(rules.size(), 1u);
  ASSERT_EQ(rules[0].parameters.size(), 1u);
  EXPECT_FALSE(specialize(rules[0], {}).ok()) << "the stride has no value";
  Bindings values(rules[0].source.symbols().size());
  values[rules[0].parameters[0].id] = 2;
  auto special = specialize(rules[0], values);
  ASSERT_TRUE(special.ok()) << special.error().to_string();
  EXPECT_TRUE(special->parameters.empty());
  EXPECT_EQ(special->source.tensor(special->source.outputs()[0]).type,
            special->target.tensor(special->target.outputs()[0]).type);
  EXPECT_THAT(print(*special), testing::HasSubstr("strides=[2, 2]"));
}

}  // namespace
}  // namespace soapstone::rules
