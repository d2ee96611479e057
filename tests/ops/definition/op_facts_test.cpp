// The facts that definitions state agree with their comprehensions.
#include <algorithm>
#include <set>

#include "ops/analysis/arithmetic.h"
#include "ops/analysis/ingredients.h"
#include "ops/definition/by_role.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using core::AttributeRole;

std::size_t results_of(const OpExample& example) {
  std::size_t count = 1;
  for (std::size_t at = 0; (at = example.results.find("  ", at)) != std::string::npos; at += 2)
    ++count;
  return count;
}

Values joined(const std::vector<Values>& parts, std::size_t first = 0) {
  Values all;
  for (std::size_t k = first; k < parts.size(); ++k)
    all.insert(all.end(), parts[k].begin(), parts[k].end());
  return all;
}

Values sorted(Values values) {
  std::ranges::sort(values);
  return values;
}

/// How many different values there are in `values` that `known` lacks.
std::size_t strangers(const Values& values, const Values& known) {
  const std::set<double> in(known.begin(), known.end());
  std::set<double> others(values.begin(), values.end());
  std::erase_if(others, [&](double v) { return in.contains(v); });
  return others.size();
}

void expect_moves(Movement movement, const std::vector<Values>& inputs,
                  const std::vector<Values>& outputs) {
  const Values results = joined(outputs);
  switch (movement) {
  case Movement::kReshape:
    EXPECT_EQ(results, inputs.at(0));
    return;
  case Movement::kPermute:
  case Movement::kSplit:
    EXPECT_EQ(sorted(results), sorted(inputs.at(0)));
    return;
  case Movement::kJoin:
    EXPECT_EQ(sorted(results), sorted(joined(inputs)));
    return;
  case Movement::kRepeat:
    EXPECT_EQ(strangers(inputs.at(0), results), 0U);
    EXPECT_EQ(strangers(results, inputs.at(0)), 0U);
    return;
  case Movement::kCut:
    EXPECT_LE(results.size(), inputs.at(0).size());
    EXPECT_EQ(strangers(results, inputs.at(0)), 0U);
    return;
  case Movement::kSelect:
    EXPECT_EQ(strangers(results, inputs.at(0)), 0U);
    return;
  case Movement::kChoose:
    EXPECT_EQ(strangers(results, joined(inputs, 1)), 0U);
    return;
  case Movement::kFrame:
    EXPECT_LE(strangers(results, inputs.at(0)), 1U);
    return;
  case Movement::kConvert:
    EXPECT_EQ(results.size(), inputs.at(0).size());
    return;
  case Movement::kFill:
    EXPECT_EQ(std::set<double>(results.begin(), results.end()).size(), 1U);
    return;
  case Movement::kDiagonal:
    EXPECT_EQ(strangers(results, {0, 1}), 0U);
    return;
  case Movement::kNone:
  case Movement::kOther:
    return;
  }
}

TEST(OpFacts, MovementsAreWhatTheComprehensionsDo) {
  std::set<Movement> seen;
  for (const OpExample& example : op_examples()) {
    SCOPED_TRACE(example.call);
    const core::Graph graph = graph_of(example.inputs, example.call, results_of(example));
    const Movement movement = registry().find(example.op())->movement;
    seen.insert(movement);
    const auto inputs = random_inputs(graph, 1, example.positive);
    expect_moves(movement, inputs, run(graph, inputs));
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Movement::kOther) + 1);
}

/// Whoever asks for one of these takes the first.
TEST(OpFacts, AnOperatorHasOneAttributeOfARoleThatSaysHowItIsApplied) {
  const std::set<AttributeRole> repeatable{AttributeRole::kFlag, AttributeRole::kReal,
                                           AttributeRole::kVariant, AttributeRole::kRatio};
  for (const auto& op : registry().all()) {
    std::set<AttributeRole> roles;
    for (const core::AttributeSchema& attribute : op->attributes)
      EXPECT_TRUE(repeatable.contains(attribute.role) || roles.insert(attribute.role).second)
          << op->name << " " << attribute.name;
  }
}

/// Each movement has the attributes by role that its users rely on.
TEST(OpFacts, MovementsHaveTheirAttributes) {
  const std::vector<std::pair<Movement, std::vector<AttributeRole>>> promised{
      {Movement::kReshape, {AttributeRole::kShape}},
      {Movement::kPermute, {AttributeRole::kPermutation}},
      {Movement::kRepeat, {AttributeRole::kShape}},
      {Movement::kCut,
       {AttributeRole::kAxes, AttributeRole::kStart, AttributeRole::kExtent, AttributeRole::kStep}},
      {Movement::kSplit, {AttributeRole::kAxis, AttributeRole::kParts}},
      {Movement::kJoin, {AttributeRole::kAxis}},
      {Movement::kSelect, {AttributeRole::kAxis}},
      {Movement::kConvert, {AttributeRole::kElementType}},
      {Movement::kFill, {AttributeRole::kShape, AttributeRole::kReal}},
      {Movement::kDiagonal, {AttributeRole::kShape}}};
  for (const auto& op : registry().all())
    for (const auto& [movement, roles] : promised)
      for (const AttributeRole role : roles)
        EXPECT_TRUE(op->movement != movement || op->find_role(role) != nullptr) << op->name;
}

TEST(OpFacts, IndicesAreIntegers) {
  for (const OpExample& example : op_examples()) {
    const core::Graph graph = graph_of(example.inputs, example.call, results_of(example));
    const core::Node& node = graph.node(graph.order()[0]);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const bool is_index = node.op->operand_role(k) == OperandRole::kIndices;
      EXPECT_FALSE(is_index && core::is_floating(graph.tensor(node.inputs[k]).type.data_type))
          << example.call;
    }
  }
}

TEST(OpFacts, ADefinitionThatMovesSaysHow) {
  const auto moves_somehow = [] {
    return OpDefinition({.name = std::string("mystery"),
                         .equation = std::string("x → y"),
                         .attributes = std::vector<core::AttributeSchema>{},
                         .inputs = std::pair<std::size_t, std::size_t>(1, 1),
                         .op_class = OpClass::kMovement,
                         .infer = [](InferContext& c) { return std::vector{c.input(0)}; },
                         .semantics = [](const OpInstance&) { return Semantics{}; },
                         .onnx = OnnxMapping{}});
  };
  EXPECT_DEATH(moves_somehow(), "mystery");
}

TEST(Arithmetic, FollowsFromTheComprehension) {
  const auto of = [](const char* name) { return arithmetic_of(*registry().find(name)); };
  EXPECT_EQ(of("add"), Arithmetic::kSum);
  EXPECT_EQ(of("sub"), Arithmetic::kDifference);
  EXPECT_EQ(of("mul"), Arithmetic::kProduct);
  EXPECT_EQ(of("div"), Arithmetic::kQuotient);
  for (const char* other : {"max", "min", "pow", "less", "relu", "matmul", "concat", "where"})
    EXPECT_EQ(of(other), Arithmetic::kNone) << other;
}

TEST(Ingredients, TellStepsAndNumbers) {
  const auto meaning = [](const char* inputs, const char* call) {
    const core::Graph graph = graph_of(inputs, call);
    return semantics_of(graph, graph.order()[0]);
  };
  for (const char* call : {"floor(x)", "ceil(x)", "round(x)", "cast(x; to=\"i64\")"})
    EXPECT_TRUE(has_steps(meaning("x: f32[3]", call))) << call;
  EXPECT_TRUE(has_steps(meaning("x: f32[3]  y: f32[3]", "less(x, y)")));
  for (const char* call : {"relu(x)", "exp(x)", "clip(x; min=0.25)", "neg(x)"})
    EXPECT_FALSE(has_steps(meaning("x: f32[3]", call))) << call;
  for (const char* call : {"clip(x; min=0.25)", "leaky_relu(x)", "gelu(x)", "hard_swish(x)"})
    EXPECT_TRUE(names_numbers(meaning("x: f32[3]", call))) << call;
  for (const char* call : {"relu(x)", "neg(x)", "exp(x)"})
    EXPECT_FALSE(names_numbers(meaning("x: f32[3]", call))) << call;
}

TEST(Ingredients, TellWhatOnlyChooses) {
  const std::set<std::string> choosing{"min",        "max",        "relu",     "clip",
                                       "reduce_max", "reduce_min", "max_pool", "where"};
  const std::set<std::string> computing{"add",        "sub",        "mul",     "neg",   "abs",
                                        "reduce_sum", "leaky_relu", "softmax", "matmul"};
  for (const OpExample& example : op_examples()) {
    const core::Graph graph = graph_of(example.inputs, example.call, results_of(example));
    const core::NodeId node = graph.order()[0];
    const bool chooses = only_chooses(semantics_of(graph, node), graph.node(node).attributes);
    EXPECT_TRUE(chooses || !choosing.contains(example.op())) << example.call;
    // A sum over nothing is no sum.
    const bool is_trivial = example.call.find("axes=[]") != std::string::npos;
    EXPECT_TRUE(!chooses || is_trivial || !computing.contains(example.op())) << example.call;
  }
}

}  // namespace
}  // namespace soapstone::ops::test
