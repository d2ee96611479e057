#include "transforms/contract/rule_head.h"

#include <fmt/format.h>

#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {

using core::TensorId;

void RuleHead::declare(TensorId id) {
  if (names_.contains(id)) return;
  const core::TensorType& type = graph_.tensor(id).type;
  names_[id] = fmt::format("x{}", names_.size());
  text_ += fmt::format("  {}: {}\n", names_[id], declared(type, names_of(known_sizes(type.shape))));
}

std::string RuleHead::written(const std::vector<core::NodeId>& nodes, SideText& source) const {
  std::map<TensorId, std::string> names = names_;
  for (const core::NodeId id : nodes) {
    const core::Node& node = graph_.node(id);
    Names operands;
    for (const TensorId input : node.inputs) operands.push_back(names.at(input));
    names[node.outputs[0]] = source.line(call_of(graph_, node, operands));
  }
  return names.at(graph_.node(nodes.back()).outputs[0]);
}

IndexedName RuleHead::indexed(const ContractionLeaf& leaf, const Sizes& sizes,
                              SideText& target) const {
  IndexedName tensor;
  Sizes large;
  for (const auto& index : leaf.indices)
    if (index) {
      tensor.indices.push_back(*index);
      large.push_back(sizes[*index]);
    }
  Sizes shape = known_sizes(graph_.tensor(leaf.tensor).type.shape);
  std::string name = name_of(leaf.tensor, target);
  if (leaf.piece) {
    const auto& [axis, start, size] = *leaf.piece;
    shape[axis] = size;
    name = target.line(fmt::format("slice({}; axes=[{}], starts=[{}], sizes=[{}], steps=[1])", name,
                                   axis, start, size));
  }
  if (leaf.divides) name = target.line(fmt::format("reciprocal({})", name));
  tensor.name = target.reshaped(name, names_of(shape), names_of(large));
  return tensor;
}

std::string RuleHead::name_of(TensorId id, SideText& target) const {
  const auto kept = kept_.find(id);
  if (kept == kept_.end()) return names_.at(id);
  Names operands;
  for (const TensorId input : kept->second->inputs) operands.push_back(names_.at(input));
  return target.line(call_of(graph_, *kept->second, operands));
}

}  // namespace soapstone::transforms
