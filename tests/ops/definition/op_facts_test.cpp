// The facts that definitions state agree with their comprehensions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/analysis/arithmetic.h"
#include "ops/analysis/ingredients.h"
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

/// A number for each position along the axis is one along the axis that the operator names.
TEST(OpFacts, FeaturesLieAlongAnAxis) {
  for (const auto& op : registry().all())
    EXPECT_TRUE(!op->has_operand(OperandRole::kFeatures) ||
                op->find_role(AttributeRole::kAxis) != nullptr)
        << op->name;
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

/// An operator that moves elements and has no attributes.
OpDefinition mystery(Movement movement) {
  return OpDefinition({.name = std::string("mystery"),
                       .equation = std::string("x → y"),
                       .attributes = std::vector<core::AttributeSchema>{},
                       .inputs = std::pair<std::size_t, std::size_t>(1, 1),
                       .op_class = OpClass::kMovement,
                       .movement = movement,
                       .infer = [](InferContext& c) { return std::vector{c.input(0)}; },
                       .semantics = [](const OpInstance&) { return Semantics{}; },
                       .onnx = OnnxMapping{}});
}

TEST(OpFacts, ADefinitionThatMovesSaysHow) {
  EXPECT_DEATH(mystery(Movement::kNone), "mystery: says not how");
  EXPECT_EQ(mystery(Movement::kOther).name, "mystery");
}

/// Users of a movement read these attributes by role.
TEST(OpFacts, AMovementHasItsAttributes) {
  for (const Movement movement :
       {Movement::kReshape, Movement::kPermute, Movement::kRepeat, Movement::kCut, Movement::kSplit,
        Movement::kJoin, Movement::kSelect, Movement::kConvert, Movement::kFill,
        Movement::kDiagonal})
    EXPECT_DEATH(mystery(movement), "mystery: lacks an attribute");
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

TEST(Arithmetic, HasAnOperatorForEach) {
  EXPECT_EQ(operator_for(Arithmetic::kSum), "add");
  EXPECT_EQ(operator_for(Arithmetic::kDifference), "sub");
  EXPECT_EQ(operator_for(Arithmetic::kProduct), "mul");
  EXPECT_EQ(operator_for(Arithmetic::kQuotient), "div");
}

TEST(Arithmetic, KnowsTheInverse) {
  for (const auto& op : registry().all()) EXPECT_EQ(is_inverse(*op), op->name == "reciprocal");
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

}  // namespace
}  // namespace soapstone::ops::test
