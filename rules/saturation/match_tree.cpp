// See match_tree.h.
#include "rules/saturation/match_tree.h"

#include <algorithm>
#include <utility>

namespace soapstone::rules {
namespace {

SizePattern without_symbol(const SizePattern& size) {
  return size.kind == SizePattern::Kind::kNumber ? size
                                                 : SizePattern{SizePattern::Kind::kSymbol, -1};
}

std::vector<SizePattern> without_symbols(const std::vector<SizePattern>& sizes) {
  std::vector<SizePattern> result;
  std::ranges::transform(sizes, std::back_inserter(result), without_symbol);
  return result;
}

MatchTree::Slot slot_wanted(const SlotPattern& slot) {
  return {slot.kind, slot.data_type, slot.constant, without_symbols(slot.dims), slot.literal};
}

/// Texts and real numbers are left to the leaves: they tell few rules apart.
AttributePattern attribute_of(const AttributePattern& attribute) {
  if (attribute.kind != AttributePattern::Kind::kInts)
    return {AttributePattern::Kind::kRealSymbol, false, {}, 0, {}};
  return {
      AttributePattern::Kind::kInts, attribute.is_list, without_symbols(attribute.elements), 0, {}};
}

/// The numbers of a pattern's tensors in the order of a walk.
class Numbering {
 public:
  explicit Numbering(const Pattern& pattern)
      : pattern_(pattern), number_of_(pattern.slots.size(), -1) {}

  MatchTree::Test test(const NodePattern& node) {
    MatchTree::Test test;
    test.op = node.op;
    for (std::int32_t slot : node.outputs) test.outputs.push_back(number(slot, test));
    for (std::int32_t slot : node.inputs) test.inputs.push_back(number(slot, test));
    for (const AttributePattern& attribute : node.attributes)
      test.attributes.push_back(attribute_of(attribute));
    return test;
  }
  std::int32_t operator[](std::int32_t slot) const {
    return slot < 0 ? -1 : number_of_[static_cast<std::size_t>(slot)];
  }
  std::vector<std::int32_t> take_met() { return std::move(met_); }

 private:
  std::int32_t number(std::int32_t slot, MatchTree::Test& test) {
    if (slot < 0) return -1;
    std::int32_t& number = number_of_[static_cast<std::size_t>(slot)];
    if (number >= 0) return number;
    number = static_cast<std::int32_t>(met_.size());
    met_.push_back(slot);
    test.slots.push_back(slot_wanted(pattern_.slots[static_cast<std::size_t>(slot)]));
    return number;
  }

  const Pattern& pattern_;
  std::vector<std::int32_t> number_of_, met_;
};

}  // namespace

bool MatchTree::Slot::operator==(const Slot& other) const {
  if (kind != other.kind || data_type != other.data_type || constant != other.constant ||
      dims != other.dims || !literal != !other.literal)
    return false;
  return !literal || *literal == *other.literal;
}

void MatchTree::add(const Pattern& pattern, std::uint32_t rule, std::uint32_t start) {
  Numbering numbers(pattern);
  std::uint32_t vertex = 0;
  for (const Step& step : pattern.plans[start]) {
    const std::int32_t via = numbers[step.via];
    vertex = child(vertex, via, step.to_producer,
                   numbers.test(pattern.nodes[static_cast<std::size_t>(step.node)]));
    vertices_[vertex].newest = rule;
  }
  vertices_[vertex].leaves.push_back(static_cast<std::uint32_t>(leaves_.size()));
  leaves_.push_back({rule, start, numbers.take_met()});
}

std::uint32_t MatchTree::child(std::uint32_t vertex, std::int32_t via, bool to_producer,
                               Test test) {
  std::vector<Branch>& branches = vertices_[vertex].branches;
  auto branch = std::ranges::find_if(
      branches, [&](const Branch& b) { return b.via == via && b.to_producer == to_producer; });
  if (branch == branches.end()) branch = branches.insert(branch, {via, to_producer, 0, {}});
  for (std::uint32_t known : branch->children)
    if (vertices_[known].test == test) return known;
  const auto made = static_cast<std::uint32_t>(vertices_.size());
  branch->ops |= op_bit(test.op);
  branch->children.push_back(made);
  Vertex next;
  next.test = std::move(test);
  next.parent = vertex;
  vertices_.push_back(std::move(next));
  return made;
}

}  // namespace soapstone::rules
