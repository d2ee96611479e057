#include "rules/blocks/source_text.h"

#include <map>

#include "ops/definition/by_role.h"

namespace soapstone::rules {

std::string call_of_node(const core::Graph& graph, const core::Node& node,
                         const SizeTexts::Texts& operands) {
  SizeTexts::Texts attributes;
  for (const core::AttributeSchema& schema : node.op->attributes)
    if (const core::AttributeValue* const value = node.attributes.find(schema.name))
      attributes.push_back(
          fmt::format("{}={}", schema.name, core::to_string(*value, graph.symbols())));
  return fmt::format("{}({}{}{})", node.op->name, SizeTexts::list(operands),
                     attributes.empty() ? "" : "; ", SizeTexts::list(attributes));
}

std::string SourceText::head() const {
  std::map<TensorId, std::string> declared;
  for (const NodeId id : nodes_) {
    const core::Node& node = graph_.node(id);
    for (const TensorId input : node.inputs)
      declared.emplace(input, sizes_.declared(input, sizes_.shape(input)));
    // A sum of its parts.
    if (node.op->movement == core::Movement::kSplit)
      declared[node.inputs[0]] = sizes_.declared_whole({{node.outputs}, ops::axis_by_role(node)});
  }
  for (const NodeId id : nodes_)
    for (const TensorId result : graph_.node(id).outputs) declared.erase(result);
  std::string head;
  for (const auto& [id, sizes] : declared) head += fmt::format("  {}: {}\n", name(id), sizes);
  return head;
}

std::string SourceText::lines() const {
  std::string lines;
  for (const NodeId id : graph_.order()) {
    if (!nodes_.contains(id)) continue;
    const core::Node& node = graph_.node(id);
    SizeTexts::Texts operands;
    for (const TensorId input : node.inputs) operands.push_back(name(input));
    std::string call = call_of_node(graph_, node, operands);
    if (node.op->movement == core::Movement::kSplit) {
      const std::size_t axis = ops::axis_by_role(node);
      call = fmt::format("split({}; axis={}, sizes=[{}])", name(node.inputs[0]), axis,
                         SizeTexts::list(sizes_.along({{node.outputs}, axis})));
    }
    lines += fmt::format("    {} = {}\n", names(node.outputs), call);
  }
  return lines;
}

}  // namespace soapstone::rules
