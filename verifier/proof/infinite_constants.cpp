// See infinite_constants.h.
#include "verifier/proof/infinite_constants.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/analysis/choices.h"
#include "ops/definition/registry.h"

namespace soapstone::verifier {
namespace {

using core::Graph;
using core::TensorId;

bool is_infinite(const Graph& side, TensorId id) {
  if (!id.valid() || !side.tensor(id).value) return false;
  if (!core::is_floating(side.tensor(id).type.data_type)) return false;
  const std::vector<double> values = side.tensor(id).value->to_doubles();
  return std::ranges::any_of(values, [](double v) { return std::isinf(v); });
}

/// Infinite elements become elements of results, and nothing is computed with or decided by them.
bool only_moves_infinities(const Graph& side) {
  std::vector<bool> tainted(side.tensor_bound());
  for (core::NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    const auto is_tainted = [&](TensorId input) {
      return input.valid() && (tainted[input.index()] || is_infinite(side, input));
    };
    if (std::ranges::none_of(node.inputs, is_tainted)) continue;
    const auto choices = ops::choices_of(ops::semantics_of(side, id), node.attributes);
    if (!choices) return false;
    const core::DataType type = side.tensor(node.outputs[0]).type.data_type;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!is_tainted(node.inputs[k])) continue;
      if (choices->compared.contains(static_cast<std::uint32_t>(k)) ||
          side.tensor(node.inputs[k]).type.data_type != type)
        return false;
    }
    for (TensorId output : node.outputs) tainted[output.index()] = true;
  }
  return true;
}

void collect_literals(const Graph& side, std::vector<core::LiteralPtr>& literals) {
  const auto add = [&](TensorId id) {
    if (!is_infinite(side, id)) return;
    const core::LiteralPtr& value = side.tensor(id).value;
    if (std::ranges::none_of(literals, [&](const auto& known) { return *known == *value; }))
      literals.push_back(value);
  };
  for (core::NodeId id : side.order()) std::ranges::for_each(side.node(id).inputs, add);
  std::ranges::for_each(side.outputs(), add);
}

/// The side with these constants as its last inputs.
core::Result<Graph> with_inputs(const Graph& side, const std::vector<core::LiteralPtr>& literals) {
  core::GraphBuilder builder(side.name(), side.symbols());
  std::vector<TensorId> mine(side.tensor_bound());
  for (TensorId id : side.inputs())
    mine[id.index()] = builder.add_input(side.tensor(id).name, side.tensor(id).type);
  std::vector<TensorId> added;
  for (std::size_t k = 0; k < literals.size(); ++k) {
    core::Shape shape(literals[k]->dims().begin(), literals[k]->dims().end());
    added.push_back(builder.add_input("any value " + std::to_string(k),
                                      {literals[k]->data_type(), std::move(shape), true}));
  }
  const auto id_of = [&](TensorId id) {
    if (!id.valid() || mine[id.index()].valid()) return id.valid() ? mine[id.index()] : id;
    const core::Tensor& constant = side.tensor(id);
    const auto at = std::ranges::find_if(
        literals, [&](const auto& literal) { return *literal == *constant.value; });
    mine[id.index()] = at == literals.end()
                           ? builder.add_constant(constant.value, constant.name)
                           : added[static_cast<std::size_t>(at - literals.begin())];
    return mine[id.index()];
  };
  for (core::NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    std::vector<TensorId> inputs;
    for (TensorId input : node.inputs) inputs.push_back(id_of(input));
    std::vector<core::TensorType> types;
    for (TensorId output : node.outputs) types.push_back(side.tensor(output).type);
    const auto outputs =
        builder.add_node(*node.op, node.attributes, std::move(inputs), std::move(types), node.name);
    for (std::size_t k = 0; k < outputs.size(); ++k) mine[node.outputs[k].index()] = outputs[k];
  }
  std::vector<TensorId> outputs;
  for (TensorId id : side.outputs()) outputs.push_back(id_of(id));
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

}  // namespace

std::optional<rules::Rule> with_any_constants(const rules::Rule& rule) {
  std::vector<core::LiteralPtr> literals;
  collect_literals(rule.source, literals);
  collect_literals(rule.target, literals);
  if (literals.empty() || !only_moves_infinities(rule.source) ||
      !only_moves_infinities(rule.target))
    return std::nullopt;
  rules::Rule general = rule;
  auto source = with_inputs(rule.source, literals), target = with_inputs(rule.target, literals);
  if (!source || !target) return std::nullopt;
  general.source = *std::move(source);
  general.target = *std::move(target);
  general.constant_inputs.resize(general.source.inputs().size(), false);
  return general;
}

}  // namespace soapstone::verifier
