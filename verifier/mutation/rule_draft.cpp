// See rule_draft.h.
#include "verifier/mutation/rule_draft.h"

#include <algorithm>
#include <map>

#include "rules/checking/complete.h"
#include "rules/rule/constraints.h"

namespace soapstone::verifier {

using core::TensorId;

namespace {

DraftSide taken_apart(const core::Graph& graph) {
  DraftSide side;
  std::map<TensorId, DraftValue> values;
  const auto add_leaf = [&](TensorId id) {
    values[id] = {DraftValue::kLeaf, static_cast<std::uint32_t>(side.leaves.size())};
    side.leaves.push_back(graph.tensor(id));
  };
  const auto value_of = [&](TensorId id) {
    if (!id.valid()) return DraftValue{};
    if (!values.contains(id)) add_leaf(id);  // a constant
    return values.at(id);
  };
  for (TensorId id : graph.inputs()) add_leaf(id);
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    DraftNode draft{node.op, node.attributes, {}, {}};
    for (TensorId input : node.inputs) draft.inputs.push_back(value_of(input));
    for (TensorId result : node.outputs) {
      values[result] = {static_cast<std::int32_t>(side.nodes.size()),
                        static_cast<std::uint32_t>(draft.results.size())};
      draft.results.push_back(graph.tensor(result).name);
    }
    side.nodes.push_back(std::move(draft));
  }
  for (TensorId id : graph.outputs()) side.outputs.push_back(value_of(id));
  return side;
}

core::Result<core::Graph> put_together(const DraftSide& side, const core::SymbolTable& symbols) {
  core::GraphBuilder builder({}, symbols);
  std::vector<TensorId> leaves;
  std::vector<std::vector<TensorId>> results;
  for (const core::Tensor& leaf : side.leaves)
    leaves.push_back(leaf.value ? builder.add_constant(leaf.value, leaf.name)
                                : builder.add_input(leaf.name, leaf.type));
  const auto id_of = [&](DraftValue value) {
    if (value.node == DraftValue::kAbsent) return TensorId::none();
    return value.node == DraftValue::kLeaf ? leaves[value.index] : results[value.node][value.index];
  };
  for (const DraftNode& node : side.nodes) {
    std::vector<TensorId> inputs;
    for (DraftValue input : node.inputs) inputs.push_back(id_of(input));
    const core::TensorType unknown{core::DataType::kFloat32, {}, false};
    results.push_back(
        builder.add_node(*node.op, node.attributes, std::move(inputs),
                         std::vector<core::TensorType>(node.results.size(), unknown)));
    for (std::size_t k = 0; k < node.results.size(); ++k)
      if (!node.results[k].empty()) builder.set_name(results.back()[k], node.results[k]);
  }
  std::vector<TensorId> outputs;
  for (DraftValue output : side.outputs) outputs.push_back(id_of(output));
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

/// Live nodes alone count.
bool reads_all_inputs(const core::Graph& graph) {
  return std::ranges::all_of(graph.inputs(), [&](TensorId id) {
    return !graph.consumers(id).empty() || graph.is_output(id);
  });
}

/// The text language has no name for a source result that is an input or another result.
bool results_are_nameable(const DraftSide& source) {
  for (std::size_t k = 0; k < source.outputs.size(); ++k) {
    if (source.outputs[k].node < 0) return false;
    for (std::size_t other = 0; other < k; ++other)
      if (source.outputs[k] == source.outputs[other]) return false;
  }
  return true;
}

}  // namespace

void DraftSide::replace_uses(DraftValue from, DraftValue to) {
  for (DraftNode& node : nodes) std::ranges::replace(node.inputs, from, to);
  std::ranges::replace(outputs, from, to);
}

RuleDraft::RuleDraft(const rules::Rule& rule)
    : source(taken_apart(rule.source)), target(taken_apart(rule.target)),
      constant_inputs(rule.constant_inputs) {
  for (const ops::SizeConstraint& c : rule.guard)
    if (rules::is_stated(c)) where.push_back(c);
  const core::SymbolTable& table = rule.source.symbols();
  for (std::uint32_t s = 0; s + rule.derived.size() < table.size(); ++s)
    symbols_.intern(table.name(core::Symbol{s}));
}

core::Result<rules::Rule> RuleDraft::finish(std::string name) const {
  if (!results_are_nameable(source))
    return core::invalid_input("a result of the source is an input or another result");
  rules::Rule rule;
  rule.name = rule.base_name = std::move(name);
  rule.constant_inputs = constant_inputs;
  rule.guard = where;
  SOAPSTONE_ASSIGN_OR_RETURN(rule.source, put_together(source, symbols_));
  SOAPSTONE_ASSIGN_OR_RETURN(rule.target, put_together(target, symbols_));
  if (!reads_all_inputs(rule.source))
    return core::invalid_input("the source does not read every input");
  return rules::complete(std::move(rule));
}

}  // namespace soapstone::verifier
