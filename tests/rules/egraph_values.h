// Values of the classes of an e-graph in the prime field, and whether all members agree.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "core/text/text.h"
#include "rules/saturation/egraph.h"
#include "rules/saturation/saturate.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {

using FieldValues = std::vector<ops::Field::Value>;

/// The results of one e-node on values of its operands.
inline std::vector<FieldValues> node_values(const EGraph& graph, ENodeId id,
                                            const std::vector<std::optional<FieldValues>>& values,
                                            std::uint64_t key) {
  core::GraphBuilder builder("node");
  std::vector<TensorId> operands;
  std::vector<FieldValues> inputs;
  for (ClassId operand : graph.operands(id)) {
    operands.push_back(TensorId::none());
    if (!operand.valid()) continue;
    operands.back() = builder.add_input("x" + std::to_string(inputs.size()), graph.type(operand));
    inputs.push_back(*values[graph.find(operand).index()]);
  }
  std::vector<core::TensorType> types;
  for (ClassId result : graph.results(id)) types.push_back(graph.type(result));
  const Operation& operation = graph.operation(id);
  builder.set_outputs(builder.add_node(*operation.op, operation.attributes, operands, types));
  const auto node = std::move(builder).finish();
  EXPECT_TRUE(node.ok());
  auto outputs = ops::evaluate_graph<ops::Field::Value>(*node, inputs, key);
  EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
  return *std::move(outputs);
}

struct MemberCheck {
  std::size_t compared = 0;  ///< E-nodes that were compared with another one of their class.
  std::vector<std::string> disagreements;
};

/// Whether all tensors of each class are equal on random inputs.
inline MemberCheck check_members(const EGraph& graph, const SaturationRules& rules,
                                 std::uint64_t seed) {
  Random random(seed);
  std::vector<std::optional<FieldValues>> values(graph.class_bound());
  const auto leaf_values = [&](ENodeId id) {
    const Operation& leaf = graph.operation(id);
    if (leaf.literal) return ops::to_field(*leaf.literal);
    const auto dims = *core::concrete(graph.type(graph.results(id)[0]).shape);
    Random of_input(seed + leaf.number);
    FieldValues drawn(static_cast<std::size_t>(core::element_count(dims)));
    for (auto& v : drawn) v = of_input.next() % ops::Field::kPrime;
    return drawn;
  };
  std::vector<bool> done(graph.node_bound());
  MemberCheck check;
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t k = 0; k < graph.node_bound(); ++k) {
      const ENodeId id(k);
      if (done[k] || !graph.is_live(id)) continue;
      const bool ready = std::ranges::all_of(graph.operands(id), [&](ClassId c) {
        return !c.valid() || values[graph.find(c).index()];
      });
      if (!ready) continue;
      done[k] = progress = true;
      const auto results = graph.op(id) ? node_values(graph, id, values, seed)
                                        : std::vector<FieldValues>{leaf_values(id)};
      for (std::size_t r = 0; r < results.size(); ++r) {
        auto& known = values[graph.find(graph.results(id)[r]).index()];
        check.compared += known ? 1 : 0;
        if (!known) known = results[r];
        if (*known == results[r]) continue;
        const bool given = graph.maker(id) == EGraph::kGiven;
        check.disagreements.push_back((graph.op(id) ? graph.op(id)->name : "leaf") + " made by " +
                                      (given ? "the test" : print(rules[graph.maker(id)].rule)));
      }
    }
  }
  return check;
}

}  // namespace soapstone::rules
