// Lemmas: derived step by step, matched where they are said to be, and nothing else.
#include "search/proofs/lemma.h"

#include <gmock/gmock.h>

#include "rules/matching/match_at.h"
#include "search/proofs/derivation.h"
#include "tests/search/search_fixture.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::RuleId;
using core::TensorId;
using testing::HasSubstr;

constexpr const char* kRules = R"(
rule twice
  x: [n, m]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x

rule negated_product
  x: [m, k]   a: [k, n]
  source
    t = neg(x)
    y = matmul(t, a)
  target
    u = matmul(x, a)
    y = neg(u)
)";

const Graph& source() {
  static const Graph kGraph =
      graph_of("graph g\n  x: f32[2, 3]\n  a: f32[3, 4]\n  s = neg(x)\n  y = matmul(s, a)\n"
               "  z = neg(y)\n  return z");
  return kGraph;
}
const Graph& target() {
  static const Graph kGraph =
      graph_of("graph g\n  x: f32[2, 3]\n  a: f32[3, 4]\n  z = matmul(x, a)\n  return z");
  return kGraph;
}

class Derived : public ::testing::Test {
 protected:
  core::Result<Equation> equation(std::size_t rule, std::vector<core::Shape> inputs,
                                  std::vector<std::int64_t> sizes) {
    std::vector<core::TensorType> types;
    for (core::Shape& shape : inputs)
      types.push_back({core::DataType::kFloat32, std::move(shape), true});
    return equation_at(admission_, RuleId(rule), types, sizes);
  }

  const rules::RuleSet rules_ = rule_set_of(kRules);
  verifier::Admission admission_{rules_, {.believe_files = false}};
};

TEST_F(Derived, ByWhatIsAssumedAndNoLess) {
  const auto product = equation(1, {{2, 3}, {3, 4}}, {2, 3, 4});
  const auto twice = equation(0, {{2, 4}}, {2, 4});
  ASSERT_TRUE(product.ok() && twice.ok()) << product.error().to_string();
  const std::vector<std::size_t> inputs = {0, 1};
  for (const int count : {0, 1, 2}) {
    Derivation derivation(source());
    ASSERT_EQ(derivation.size(), 5u);  // x, a, s, y, z
    if (count > 0) derivation.assume(*product, inputs);
    const std::vector<std::size_t> made = {5};  // matmul(x, a)
    if (count > 1) derivation.assume(*twice, made);
    EXPECT_EQ(derivation.gives(target()), count == 2);
    EXPECT_TRUE(derivation.gives(source()));
  }
}

TEST_F(Derived, NotByWhatDoesNotMatchOrIsNotProved) {
  EXPECT_FALSE(equation(1, {{2, 3}, {4, 4}}, {2, 3, 4}).ok());
  EXPECT_FALSE(equation(1, {{2, 3}, {3, 4}}, {2, 3, 5}).ok());
  EXPECT_FALSE(equation(1, {{2, 3}, {3, 4}}, {2, 3}).ok());
  EXPECT_FALSE(equation(1, {{2, 3}}, {2, 3, 4}).ok());
  const rules::RuleSet wrong = rule_set_of(kWrongRule);
  verifier::Admission admission(wrong, {.believe_files = false});
  const core::TensorType type{core::DataType::kFloat32, {4, 4}, true};
  const std::vector<core::TensorType> types(3, type);
  const std::vector<std::int64_t> sizes(wrong.rules()[0].source.symbols().size(), 4);
  const auto refused = equation_at(admission, RuleId(0), types, sizes);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("is not admitted"));
}

/// Both sides of an equation are one class, so what may only be replaced one way is no equation.
TEST_F(Derived, NotByWhatHoldsInOneDirection) {
  const rules::RuleSet both = rule_set_of(R"(
rule recovers
  x: [n]
  source
    e = exp(x)
    l = log(e)
    y = neg(l)
  target
    y = neg(x)

rule exact
  x: [n]
  source
    e = neg(x)
    l = neg(e)
    y = neg(l)
  target
    y = neg(x)
)");
  verifier::Admission admission(both, {.believe_files = false});
  verifier::Admission lenient(both, {.believe_files = false, .allow_range_changes = true});
  const std::vector<core::TensorType> types(1,
                                            core::TensorType{core::DataType::kFloat32, {4}, true});
  const std::vector<std::int64_t> sizes = {4};
  const auto refused = equation_at(admission, RuleId(0), types, sizes);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("each may stand for the other"));
  EXPECT_TRUE(equation_at(lenient, RuleId(0), types, sizes).ok());
  const auto exact = equation_at(admission, RuleId(1), types, sizes);
  EXPECT_TRUE(exact.ok()) << exact.error().to_string();
}

TEST_F(Derived, FromTheLogOfASaturation) {
  rules::EGraph graph;
  std::vector<rules::ClassId> inputs;
  for (const TensorId id : source().inputs())
    inputs.push_back(
        graph.add_input(static_cast<std::uint32_t>(inputs.size()), source().tensor(id).type));
  const auto classes = graph.add_graph(source(), inputs);
  std::vector<rules::ClassId> given;
  for (const TensorId id : numbered_tensors(source())) given.push_back(classes[id.index()]);
  std::vector<rules::Application> log;
  rules::saturate(graph, rules::SaturationRules(rules_.rules()), {}, nullptr, core::StopToken(), {},
                  &log);
  const rules::ClassId result = graph.find(classes[source().outputs()[0].index()]);
  const auto steps = derive(source(), target(), {graph, given, log}, graph[result].nodes,
                            admission_, [] { return false; });
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ((*steps)[0].rule, RuleId(1));
  EXPECT_EQ((*steps)[1].rule, RuleId(0));
  EXPECT_EQ((*steps)[1].inputs, std::vector<std::size_t>{5});
  Lemma lemma{*lemma_rule("lemma", source(), target(), {false, false}), *steps};
  EXPECT_TRUE(is_derived(lemma, admission_));
  lemma.steps[1].inputs = {9};
  EXPECT_FALSE(is_derived(lemma, admission_));
  lemma.steps.pop_back();
  EXPECT_FALSE(is_derived(lemma, admission_));
  // Another target has no derivation.
  EXPECT_FALSE(derive(source(),
                      graph_of("graph g\n  x: f32[2, 3]\n  a: f32[3, 4]\n"
                               "  y = matmul(x, a)\n  z = neg(y)\n  return z"),
                      {graph, given, log}, graph[result].nodes, admission_, [] { return false; }));
}

TEST(NumberedTensors, AreThoseOfTheTextForEqualConstants) {
  core::GraphBuilder builder("g");
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {4}, true});
  const auto two = [&] {
    const std::vector<float> values = {2};
    return builder.add_constant(
        std::make_shared<const core::Literal>(core::Literal::floats({}, values)));
  };
  const auto y = (*ops::append(builder, "mul", {x, two()}))[0];
  builder.set_outputs({(*ops::append(builder, "mul", {y, two()}))[0]});
  const Graph graph = *std::move(builder).finish();
  const auto rule = lemma_rule("lemma", graph,
                               graph_of("graph g\n  x: f32[4]\n  c: f32[] = {4}\n"
                                        "  y = mul(x, c)\n  return y"),
                               {false});
  ASSERT_TRUE(rule.ok()) << rule.error().to_string();
  EXPECT_EQ(numbered_tensors(graph).size(), 4u);
  EXPECT_EQ(numbered_tensors(rule->source).size(), 4u);
}

TEST(LemmaRule, IsWhatItsTextSays) {
  const auto rule = lemma_rule("lemma", source(), target(), {false, true});
  ASSERT_TRUE(rule.ok()) << rule.error().to_string();
  const auto again = rules::parse_rules(rules::print(*rule));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(rules::print(again->rules[0]), rules::print(*rule));
  EXPECT_TRUE(same_structure(rule->source, source()));
  EXPECT_TRUE(same_structure(rule->target, target()));
  EXPECT_EQ(rule->constant_inputs, (std::vector<bool>{false, true}));
}

TEST(LemmaRule, MatchesWhereItIsAndNowhereElse) {
  const auto rule = lemma_rule("lemma", source(), target(), {false, false});
  ASSERT_TRUE(rule.ok());
  const Graph graph = graph_of(
      "graph g\n  x: f32[2, 3]\n  b: f32[3, 5]\n  a: f32[3, 4]\n  s = neg(x)\n  r = relu(x)\n"
      "  y = matmul(s, a)\n  z = neg(y)\n  w = matmul(r, b)\n  return z, w, y");
  const auto ids = [](std::vector<std::size_t> numbers) {
    return std::vector<NodeId>(numbers.begin(), numbers.end());
  };
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.order())
    if (graph.node(id).op->name != "relu" && graph.node(id).inputs.back() != graph.inputs()[1])
      nodes.push_back(id);
  const std::vector<TensorId> inputs = {graph.inputs()[0], graph.inputs()[2]};
  const auto match = rules::match_at(graph, *rule, nodes, inputs);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->outputs, std::vector<TensorId>{graph.outputs()[0]});
  const auto rewritten = rules::apply(graph, *rule, *match);
  ASSERT_TRUE(rewritten.ok());
  EXPECT_EQ(rewritten->tensor(rewritten->outputs()[0]).name, "z");

  EXPECT_FALSE(rules::match_at(graph, *rule, nodes, std::vector<TensorId>{inputs[1], inputs[0]}));
  EXPECT_FALSE(
      rules::match_at(graph, *rule, nodes, std::vector<TensorId>{graph.inputs()[0], graph.inputs()[1]}));
  EXPECT_FALSE(rules::match_at(graph, *rule, std::vector<NodeId>{nodes[0], nodes[1]}, inputs));
  EXPECT_FALSE(rules::match_at(graph, *rule, std::vector<NodeId>{nodes[2], nodes[1], nodes[0]}, inputs));
  EXPECT_FALSE(rules::match_at(graph, *rule, ids({77, 78, 79}), inputs));
}

}  // namespace
}  // namespace soapstone::search
