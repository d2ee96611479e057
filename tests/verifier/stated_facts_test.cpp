// What an operator states about itself must not matter to a proof: an operator that computes, and
// states that it moves, converts or selects, is read as what its definition says.
#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "tests/support/rules.h"
#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {
namespace {

using core::AttributeRole;
using ops::Expr;
using Index = std::vector<core::Polynomial>;

/// An operator of one operand whose element at an index is this. It has the attributes that those
/// who believe it would read.
ops::OpDefinition operator_of(core::Movement stated,
                              std::function<Expr(ops::SemanticsBuilder&, const Index&)> element) {
  return ops::OpDefinition({.name = std::string("liar"),
                            .equation = std::string("x → y"),
                            .attributes =
                                std::vector<core::AttributeSchema>{
                                    {"axis", AttributeRole::kAxis, core::Polynomial(0), {}},
                                    {"shape", AttributeRole::kShape, Index{}, {}},
                                    {"to", AttributeRole::kElementType, std::string("i32"), {}}},
                            .inputs = std::pair<std::size_t, std::size_t>(1, 1),
                            .op_class = ops::OpClass::kMovement,
                            .movement = stated,
                            .infer = [](ops::InferContext& c) { return std::vector{c.input(0)}; },
                            .semantics =
                                [element](const ops::OpInstance& op) {
                                  ops::SemanticsBuilder builder(1);
                                  builder.output(op.outputs[0].shape, [&](const Index& i) {
                                    return element(builder, i);
                                  });
                                  return std::move(builder).finish();
                                },
                            .onnx = ops::OnnxMapping{}});
}

/// The graph with this operator in place of each `abs`.
core::Graph with_operator(const core::Graph& graph, const ops::OpDefinition& op) {
  core::GraphBuilder builder(graph.name(), graph.symbols());
  std::vector<core::TensorId> mine(graph.tensor_bound());
  for (const core::TensorId id : graph.inputs())
    mine[id.index()] = builder.add_input(graph.tensor(id).name, graph.tensor(id).type);
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    std::vector<core::TensorId> inputs;
    for (const core::TensorId input : node.inputs) inputs.push_back(mine[input.index()]);
    const bool is_placeholder = node.op->name == "abs";
    const auto& schema = is_placeholder ? static_cast<const core::OpSchema&>(op) : *node.op;
    mine[node.outputs[0].index()] =
        builder.add_node(schema, node.attributes, inputs, {graph.tensor(node.outputs[0]).type})[0];
  }
  std::vector<core::TensorId> outputs;
  for (const core::TensorId id : graph.outputs()) outputs.push_back(mine[id.index()]);
  builder.set_outputs(std::move(outputs));
  auto result = std::move(builder).finish();
  EXPECT_TRUE(result.ok());
  return *std::move(result);
}

/// The rule with that operator for `abs`, which stands for it in the text.
VerdictKind verdict_with(const ops::OpDefinition& op, const std::string& text) {
  rules::Rule rule = rule_of(text);
  rule.source = with_operator(rule.source, op);
  rule.target = with_operator(rule.target, op);
  const auto solver = make_z3_solver();
  return verify(rule, *solver, {}).kind;
}

Expr doubled(ops::SemanticsBuilder& /*builder*/, const Index& i) {
  return ops::read(0, i) + ops::read(0, i);
}

/// Two thirds of the largest number wrap if they are added up in 32 bits, and not in 64.
constexpr const char* kSumIsWide = "rule r\n  x: i32[n]\n  source\n    t = abs(x)\n"
                                   "    y = cast(t; to=\"i64\")\n  target\n"
                                   "    u = cast(x; to=\"i64\")\n    y = add(u, u)\n";

TEST(StatedFacts, DoNotHideThatIntegersWrap) {
  for (const auto stated :
       {core::Movement::kFrame, core::Movement::kReshape, core::Movement::kRepeat,
        core::Movement::kSelect, core::Movement::kConvert, core::Movement::kOther})
    EXPECT_NE(verdict_with(operator_of(stated, doubled), kSumIsWide), VerdictKind::kProved)
        << static_cast<int>(stated);
}

TEST(StatedFacts, AreNotNeededForWhatOnlyMoves) {
  const auto copied = [](ops::SemanticsBuilder&, const Index& i) { return ops::read(0, i); };
  const char* rule = "rule r\n  x: i32[n]\n  source\n    t = abs(x)\n    u = cast(t; to=\"i64\")\n"
                     "    y = add(u, u)\n  target\n    v = cast(x; to=\"i64\")\n"
                     "    y = add(v, v)\n";
  EXPECT_EQ(verdict_with(operator_of(core::Movement::kOther, copied), rule), VerdictKind::kProved);
}

/// Σ over v of [x[i] = v] is 1 only where x[i] is a position, which nothing here requires.
TEST(StatedFacts, DoNotReplaceARequirement) {
  const auto counted = [](ops::SemanticsBuilder& builder, const Index& i) {
    return builder.sum_over(3, [&](const core::Polynomial& v) {
      return ops::apply(ops::Function::kEqual, {ops::read(0, i), ops::index_value(v)});
    });
  };
  const char* rule = "rule r\n  x: i64[n]\n  source\n    t = abs(x)\n    y = mul(t, x)\n"
                     "  target\n    y = x\n";
  EXPECT_NE(verdict_with(operator_of(core::Movement::kSelect, counted), rule),
            VerdictKind::kProved);
}

}  // namespace
}  // namespace soapstone::verifier
