// See match_tree.h.
#include "rules/saturation/match_tree.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/base/hash.h"

namespace soapstone::rules {

using core::hash_combine;

namespace {

constexpr std::size_t kManyResults = 3;

std::uint64_t hash_of(std::uint64_t seed, const SizePattern& size) {
  return hash_combine(hash_combine(seed, static_cast<std::uint64_t>(size.kind)),
                      static_cast<std::uint64_t>(size.value));
}

std::uint64_t hash_of(const MatchStep& step) {
  std::uint64_t hash = hash_combine(static_cast<std::uint64_t>(step.via) * 2 + step.to_producer,
                                    reinterpret_cast<std::uintptr_t>(step.node.op));
  hash = hash_combine(hash, step.results);
  const auto add = [&](const std::vector<std::int32_t>& slots) {
    hash = hash_combine(hash, slots.size());
    for (const std::int32_t slot : slots)
      hash = hash_combine(hash, static_cast<std::uint64_t>(slot));
  };
  add(step.node.inputs);
  add(step.node.outputs);
  for (const AttributePattern& attribute : step.node.attributes) {
    hash = hash_combine(hash, static_cast<std::uint64_t>(attribute.kind));
    hash = hash_combine(hash, std::bit_cast<std::uint64_t>(attribute.real));
    for (const SizePattern& element : attribute.elements) hash = hash_of(hash, element);
  }
  for (const SlotPattern& slot : step.slots) {
    hash = hash_combine(hash, static_cast<std::uint64_t>(slot.kind) * 2 + slot.constant);
    for (const SizePattern& size : slot.dims) hash = hash_of(hash, size);
  }
  return hash;
}

bool is_same(const SlotPattern& a, const SlotPattern& b) {
  if (a.kind != b.kind || a.data_type != b.data_type || a.constant != b.constant) return false;
  return a.dims == b.dims && (a.literal == b.literal || (a.literal && *a.literal == *b.literal));
}

bool is_same(const MatchStep& a, const MatchStep& b) {
  return a.via == b.via && a.to_producer == b.to_producer && a.results == b.results &&
         a.first_slot == b.first_slot && a.node.op == b.node.op && a.node.inputs == b.node.inputs &&
         a.node.outputs == b.node.outputs && a.node.attributes == b.node.attributes &&
         std::ranges::equal(a.slots, b.slots,
                            [](const auto& p, const auto& q) { return is_same(p, q); });
}

}  // namespace

/// Numbers what it meets in one source.
class MatchTree::Walk {
 public:
  Walk(MatchTree& tree, const Pattern& pattern)
      : tree_(tree), pattern_(pattern), slots_(pattern.slots.size(), -1) {}

  MatchStep next(const Step& step) {
    const NodePattern& node = pattern_.nodes[static_cast<std::size_t>(step.node)];
    MatchStep made;
    if (step.via >= 0) made.via = slots_[static_cast<std::size_t>(step.via)];
    made.to_producer = step.to_producer;
    made.results = std::min(pattern_.outputs.size(), kManyResults);
    made.node.op = node.op;
    made.node.attributes = node.attributes;
    for (AttributePattern& attribute : made.node.attributes) number(attribute.elements);
    made.first_slot = leaf_.slots.size();
    made.node.outputs = numbered(node.outputs, made.slots);
    made.node.inputs = numbered(node.inputs, made.slots);
    return made;
  }

  /// When all steps are made.
  Leaf leaf() && { return std::move(leaf_); }

 private:
  std::vector<std::int32_t> numbered(const std::vector<std::int32_t>& slots,
                                     std::vector<SlotPattern>& met) {
    std::vector<std::int32_t> result;
    for (const std::int32_t slot : slots) {
      result.push_back(slot);
      if (slot < 0) continue;
      std::int32_t& known = slots_[static_cast<std::size_t>(slot)];
      if (known < 0) {
        known = static_cast<std::int32_t>(leaf_.slots.size());
        leaf_.slots.push_back(static_cast<std::uint32_t>(slot));
        met.push_back(condition(pattern_.slots[static_cast<std::size_t>(slot)]));
      }
      result.back() = known;
    }
    return result;
  }

  SlotPattern condition(const SlotPattern& slot) {
    SlotPattern made;
    if (slot.kind == SlotPattern::Kind::kLiteral) {
      made.kind = slot.kind;
      made.literal = slot.literal;
    } else if (slot.kind == SlotPattern::Kind::kInput) {
      made.kind = slot.kind;
      made.data_type = slot.data_type;
      made.constant = slot.constant;
      made.dims = slot.dims;
      number(made.dims);
    }
    return made;
  }

  void number(std::vector<SizePattern>& sizes) {
    for (SizePattern& size : sizes) {
      if (size.kind == SizePattern::Kind::kSymbol)
        size.value = number_of_symbol(static_cast<std::uint32_t>(size.value));
      else if (size.kind == SizePattern::Kind::kLater)
        size.value = number_of_equation(static_cast<std::uint32_t>(size.value));
    }
  }

  std::uint32_t number_of_symbol(std::uint32_t symbol) {
    const auto known = std::ranges::find(leaf_.symbols, symbol);
    const auto number = static_cast<std::uint32_t>(known - leaf_.symbols.begin());
    if (known == leaf_.symbols.end()) leaf_.symbols.push_back(symbol);
    return number;
  }

  std::uint32_t number_of_equation(std::uint32_t equation) {
    const core::Polynomial met =
        pattern_.equations[equation].polynomial.substitute([&](core::Symbol symbol) {
          return core::Polynomial(core::Symbol{number_of_symbol(symbol.id)});
        });
    const std::uint32_t number = tree_.number_of(met, equations_met_[met]++);
    leaf_.equations.emplace_back(equation, number);
    return number;
  }

  MatchTree& tree_;
  const Pattern& pattern_;
  std::vector<std::int32_t> slots_;  // numbers, by slot of the pattern
  Leaf leaf_;
  std::map<core::Polynomial, std::size_t> equations_met_;
};

std::uint64_t MatchTree::key(const core::OpSchema* op, std::size_t rank, std::uint64_t attribute) {
  // Within one process; nothing is ordered by addresses.
  const auto address = reinterpret_cast<std::uintptr_t>(op);
  return hash_combine(attribute, address * 64 + rank);
}

std::uint64_t MatchTree::operation_key(const Operation& operation) {
  const int k = key_attribute(*operation.op);
  if (k < 0) return 0;
  return attribute_key(std::next(operation.attributes.values().begin(), k)->second);
}

void MatchTree::add(std::uint32_t rule, const Pattern& pattern,
                    std::span<const Neighbors> neighbors) {
  for (std::uint32_t start = 0; start < pattern.nodes.size(); ++start) {
    const NodePattern& first_node = pattern.nodes[start];
    const auto rank =
        first_node.result_rank < 0 ? kAnyRank : static_cast<std::size_t>(first_node.result_rank);
    Walk walk(*this, pattern);
    std::uint32_t at = kNone;
    for (const Step& step : pattern.plans[start]) {
      auto made = shared(walk.next(step));
      const Neighbors& its = neighbors[static_cast<std::size_t>(step.node)];
      if (at == kNone) {
        const auto [first, is_new] =
            roots_.try_emplace(key(first_node.op, rank, pattern_key(first_node)), kNone);
        at = find_or_add(first->second, std::move(made), its);
        if (is_new) first->second = at;
        continue;
      }
      const std::size_t known = nodes_.size();
      const std::uint32_t next = find_or_add(nodes_[at].first_child, std::move(made), its);
      if (nodes_[at].first_child == kNone) nodes_[at].first_child = next;
      if (nodes_.size() > known) ++nodes_[at].parts;
      at = next;
    }
    Leaf leaf = std::move(walk).leaf();
    leaf.rule = rule;
    leaf.start = start;
    bounds_.steps = std::max(bounds_.steps, pattern.plans[start].size());
    bounds_.slots = std::max(bounds_.slots, leaf.slots.size());
    bounds_.symbols = std::max(bounds_.symbols, leaf.symbols.size());
    std::uint32_t* last = &nodes_[at].first_leaf;
    while (*last != kNone) last = &leaves_[*last].second;
    *last = static_cast<std::uint32_t>(leaves_.size());
    ++nodes_[at].parts;
    leaves_.emplace_back(std::make_shared<const Leaf>(std::move(leaf)), kNone);
  }
}

std::shared_ptr<const MatchStep> MatchTree::shared(MatchStep step) {
  const std::uint64_t hash = hash_of(step);
  const auto [begin, end] = steps_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (is_same(*known->second, step)) return known->second;
  return steps_.emplace(hash, std::make_shared<const MatchStep>(std::move(step)))->second;
}

std::uint32_t MatchTree::find_or_add(std::uint32_t first, std::shared_ptr<const MatchStep> step,
                                     const Neighbors& neighbors) {
  std::uint32_t last = kNone;
  for (std::uint32_t k = first; k != kNone; k = nodes_[k].next_sibling) {
    last = k;
    if (nodes_[k].step != step) continue;
    nodes_[k].neighbors.makers &= neighbors.makers;
    nodes_[k].neighbors.readers &= neighbors.readers;
    return k;
  }
  const auto added = static_cast<std::uint32_t>(nodes_.size());
  if (last != kNone) nodes_[last].next_sibling = added;
  nodes_.push_back({.step = std::move(step), .neighbors = neighbors});
  return added;
}

std::uint32_t MatchTree::number_of(const core::Polynomial& polynomial, std::size_t n) {
  const auto next = static_cast<std::uint32_t>(equations_.equations.size());
  const auto [known, is_new] = equation_numbers_.emplace(std::pair(polynomial, n), next);
  if (is_new) equations_.equations.push_back({.polynomial = polynomial, .factor = {}, .rest = {}});
  return known->second;
}

}  // namespace soapstone::rules
