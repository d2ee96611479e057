#include "transforms/base/source_text.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"

namespace soapstone::transforms {

using core::NodeId;
using core::TensorId;

std::string list_of(const Texts& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

std::string call_of(const core::Graph& graph, const core::Node& node, const Texts& operands,
                    const std::optional<Texts>& shape) {
  Texts given = operands, attributes;
  while (!given.empty() && given.back() == "_") given.pop_back();
  for (const core::AttributeSchema& schema : node.op->attributes) {
    const core::AttributeValue* const value = node.attributes.find(schema.name);
    if (value == nullptr) continue;
    const bool is_given = shape && (schema.role == core::AttributeRole::kShape ||
                                    schema.role == core::AttributeRole::kParts);
    attributes.push_back(fmt::format("{}={}", schema.name,
                                     is_given ? fmt::format("[{}]", list_of(*shape))
                                              : core::to_string(*value, graph.symbols())));
  }
  return fmt::format("{}({}{}{})", node.op->name, list_of(given), attributes.empty() ? "" : "; ",
                     list_of(attributes));
}

std::string SizeTexts::size(std::int64_t n) const {
  return n == 1 || !any_sizes_ ? std::to_string(n) : fmt::format("d{}", n);
}

std::string SizeTexts::size(TensorId id, std::size_t axis) const {
  return size(graph_->tensor(id).type.shape[axis].constant());
}

Texts SizeTexts::shape(TensorId id) const {
  Texts sizes;
  for (const core::Polynomial& n : graph_->tensor(id).type.shape)
    sizes.push_back(size(n.constant()));
  return sizes;
}

Texts SizeTexts::along(const Tensors& tensors, std::size_t axis) const {
  Texts sizes;
  for (const TensorId id : tensors) sizes.push_back(size(id, axis));
  return sizes;
}

std::string SizeTexts::sum(const Texts& sizes) {
  return sizes.empty() ? "0" : fmt::format("{}", fmt::join(sizes, " + "));
}

std::string SizeTexts::declared(TensorId id, const Texts& sizes) const {
  const core::DataType of = graph_->tensor(id).type.data_type;
  return fmt::format("{}[{}]", core::is_floating(of) ? "" : core::to_string(of), list_of(sizes));
}

std::string SizeTexts::declared_whole(const Tensors& tensors, std::size_t axis) const {
  Texts sizes = shape(tensors[0]);
  sizes[axis] = sum(along(tensors, axis));
  return declared(tensors[0], sizes);
}

std::string SourceText::name(TensorId id) { return fmt::format("t{}", id.value); }

std::string SourceText::names(const std::vector<TensorId>& tensors) {
  Texts all;
  for (const TensorId id : tensors) all.push_back(name(id));
  return list_of(all);
}

std::string SourceText::head() const {
  std::map<TensorId, std::string> declared;
  for (const NodeId id : nodes_) {
    const core::Node& node = graph_->node(id);
    for (const TensorId input : node.inputs)
      if (input.valid()) declared.emplace(input, sizes_.declared(input));
    // A sum of its parts.
    if (node.op->movement == core::Movement::kSplit)
      declared[node.inputs[0]] = sizes_.declared_whole(node.outputs, ops::axis_by_role(node));
  }
  for (const NodeId id : nodes_)
    for (const TensorId result : graph_->node(id).outputs) declared.erase(result);
  std::string head;
  for (const auto& [id, sizes] : declared) head += fmt::format("  {}: {}\n", name(id), sizes);
  return head;
}

std::string SourceText::lines() const {
  std::string lines;
  for (const NodeId id : graph_->order()) {
    if (!nodes_.contains(id)) continue;
    const core::Node& node = graph_->node(id);
    Texts operands;
    for (const TensorId input : node.inputs) operands.push_back(input.valid() ? name(input) : "_");
    std::optional<Texts> parts;
    if (node.op->movement == core::Movement::kSplit)
      parts = sizes_.along(node.outputs, ops::axis_by_role(node));
    lines +=
        fmt::format("    {} = {}\n", names(node.outputs), call_of(*graph_, node, operands, parts));
  }
  return lines;
}

std::string rule_for(const std::string& name, const SourceText& source, const Texts& target) {
  return fmt::format("rule {}\n{}  placed\n  source\n{}  target\n{}", name, source.head(),
                     source.lines(), fmt::join(target, ""));
}

}  // namespace soapstone::transforms
