// See symmetry.h. Sources are small, so all assignments of nodes to nodes are tried.
#include "rules/matching/symmetry.h"

#include <algorithm>

#include "core/base/hash.h"

namespace soapstone::rules {
namespace {

using core::hash_combine;
using core::Polynomial;
using core::Symbol;

/// The image of each slot and symbol under a candidate; −1: none yet.
struct Mapping {
  std::vector<std::int32_t> nodes, slots, symbols;
};

/// Sets from ↦ to; false if that contradicts what is set, or if it is not one to one.
bool set(std::vector<std::int32_t>& map, std::int32_t from, std::int32_t to) {
  if (from < 0 || to < 0) return from == to;
  std::int32_t& at = map[static_cast<std::size_t>(from)];
  if (at >= 0) return at == to;
  if (std::ranges::find(map, to) != map.end()) return false;
  at = to;
  return true;
}

Polynomial renamed(const Polynomial& p, const std::vector<std::int32_t>& symbols) {
  return p.substitute([&](Symbol s) -> std::optional<Polynomial> {
    if (s.id >= symbols.size() || symbols[s.id] < 0) return std::nullopt;
    return Polynomial(Symbol{static_cast<std::uint32_t>(symbols[s.id])});
  });
}

class SymmetryFinder {
 public:
  SymmetryFinder(const Rule& rule, const Pattern& pattern) : rule_(rule), pattern_(pattern) {}

  std::vector<Symmetry> run() {
    Mapping empty;
    empty.nodes.assign(pattern_.nodes.size(), -1);
    empty.slots.assign(pattern_.slots.size(), -1);
    empty.symbols.assign(rule_.source.symbols().size(), -1);
    extend(0, empty);
    return std::move(found_);
  }

 private:
  void extend(std::size_t node, const Mapping& mapping) {
    if (node == pattern_.nodes.size()) return accept(mapping);
    for (std::size_t to = 0; to < pattern_.nodes.size(); ++to) {
      Mapping next = mapping;
      const NodePattern &a = pattern_.nodes[node], &b = pattern_.nodes[to];
      if (a.op != b.op || a.inputs.size() != b.inputs.size() ||
          !set(next.nodes, static_cast<std::int32_t>(node), static_cast<std::int32_t>(to)) ||
          !map_slots(next, a.outputs, b.outputs) || !map_attributes(next, a, b))
        continue;
      extend_inputs(node, a.inputs, b.inputs, next);
      if (a.op->commutative && a.inputs.size() >= 2 && a.inputs[0] != a.inputs[1]) {
        std::vector<std::int32_t> exchanged = b.inputs;
        std::swap(exchanged[0], exchanged[1]);
        extend_inputs(node, a.inputs, exchanged, next);
      }
    }
  }

  void extend_inputs(std::size_t node, const std::vector<std::int32_t>& a,
                     const std::vector<std::int32_t>& b, Mapping mapping) {
    if (map_slots(mapping, a, b)) extend(node + 1, mapping);
  }

  bool map_slots(Mapping& mapping, const std::vector<std::int32_t>& a,
                 const std::vector<std::int32_t>& b) const {
    bool same = a.size() == b.size();
    for (std::size_t k = 0; same && k < a.size(); ++k)
      same = set(mapping.slots, a[k], b[k]) && (a[k] < 0 || map_slot(mapping, a[k], b[k]));
    return same;
  }

  bool map_slot(Mapping& mapping, std::int32_t from, std::int32_t to) const {
    const SlotPattern& a = pattern_.slots[static_cast<std::size_t>(from)];
    const SlotPattern& b = pattern_.slots[static_cast<std::size_t>(to)];
    if (a.kind != b.kind || a.data_type != b.data_type || a.constant != b.constant) return false;
    if (a.literal && !(*a.literal == *b.literal)) return false;
    return map_sizes(mapping, a.dims, b.dims);
  }

  bool map_sizes(Mapping& mapping, const std::vector<SizePattern>& a,
                 const std::vector<SizePattern>& b) const {
    bool same = a.size() == b.size();
    for (std::size_t k = 0; same && k < a.size(); ++k) {
      same = a[k].kind == b[k].kind;
      if (same && a[k].kind == SizePattern::Kind::kNumber) same = a[k].value == b[k].value;
      if (same && a[k].kind == SizePattern::Kind::kSymbol)
        same = set(mapping.symbols, static_cast<std::int32_t>(a[k].value),
                   static_cast<std::int32_t>(b[k].value));
    }
    return same;
  }

  bool map_attributes(Mapping& mapping, const NodePattern& a, const NodePattern& b) const {
    bool same = a.attributes.size() == b.attributes.size();
    for (std::size_t k = 0; same && k < a.attributes.size(); ++k) {
      const AttributePattern &p = a.attributes[k], &q = b.attributes[k];
      same = p.kind == q.kind && p.is_list == q.is_list && p.real == q.real && p.text == q.text &&
             map_sizes(mapping, p.elements, q.elements);
    }
    return same;
  }

  void accept(const Mapping& mapping) {
    const bool identity = [&] {
      for (std::size_t s = 0; s < mapping.slots.size(); ++s)
        if (mapping.slots[s] != static_cast<std::int32_t>(s)) return false;
      return true;
    }();
    if (identity || !same_equations(mapping)) return;
    std::vector<std::int32_t> none;
    if (target_hash(mapping) != target_hash({{}, {}, {}})) return;
    Symmetry symmetry;
    symmetry.nodes.assign(mapping.nodes.begin(), mapping.nodes.end());
    const auto inputs = static_cast<std::ptrdiff_t>(rule_.source.inputs().size());
    symmetry.inputs.assign(mapping.slots.begin(), mapping.slots.begin() + inputs);
    found_.push_back(std::move(symmetry));
  }

  /// The equations are the same set with the symbols exchanged.
  bool same_equations(const Mapping& mapping) const {
    std::vector<Polynomial> before, after;
    for (const Equation& e : pattern_.equations) {
      before.push_back(e.polynomial);
      after.push_back(renamed(e.polynomial, mapping.symbols));
    }
    std::ranges::sort(before, [](const auto& a, const auto& b) { return a < b; });
    std::ranges::sort(after, [](const auto& a, const auto& b) { return a < b; });
    return before == after;
  }

  /// The hash of the target with inputs, symbols and results exchanged, without regard to order.
  std::uint64_t target_hash(const Mapping& mapping) const {
    const Graph& target = rule_.target;
    std::vector<std::uint64_t> hashes(target.tensor_bound());
    for (std::size_t k = 0; k < target.inputs().size(); ++k)
      hashes[target.inputs()[k].index()] = hash_combine(1, place(mapping.slots, k));
    for (NodeId id : target.order()) hash_node(mapping, target.node(id), hashes);
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < target.outputs().size(); ++k) {
      const auto slot = static_cast<std::size_t>(pattern_.outputs[k]);
      total +=
          hash_combine(hash_of(target, target.outputs()[k], hashes), place(mapping.slots, slot));
    }
    return total;
  }

  static std::uint64_t place(const std::vector<std::int32_t>& slots, std::size_t slot) {
    return slots.empty() ? slot : static_cast<std::uint64_t>(slots[slot]);
  }

  static std::uint64_t hash_of(const Graph& target, TensorId id,
                               const std::vector<std::uint64_t>& hashes) {
    if (!id.valid()) return 2;
    return target.tensor(id).value ? target.tensor(id).value->hash() : hashes[id.index()];
  }

  void hash_node(const Mapping& mapping, const core::Node& node,
                 std::vector<std::uint64_t>& hashes) const {
    const core::AttributeSchema* parts = node.op->movement == core::Movement::kSplit
                                             ? node.op->find_role(core::AttributeRole::kParts)
                                             : nullptr;
    std::uint64_t hash = node.op->hash(), operands = 0;
    for (const auto& [name, value] : node.attributes.values())
      hash = hash_combine(hash, attribute_hash(value, mapping, parts && parts->name == name));
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::uint64_t operand = hash_of(rule_.target, node.inputs[k], hashes);
      const bool unordered =
          node.op->movement == core::Movement::kJoin || (node.op->commutative && k < 2);
      operands = unordered ? operands + core::hash_mix(operand) : hash_combine(operands, operand);
    }
    hash = hash_combine(hash, operands);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      std::uint64_t part = k;
      if (parts) part = renamed(node.attributes.get_sizes(parts->name)[k], mapping.symbols).hash();
      hashes[node.outputs[k].index()] = hash_combine(hash, part);
    }
  }

  static std::uint64_t attribute_hash(const core::AttributeValue& value, const Mapping& mapping,
                                      bool unordered) {
    if (const auto* p = std::get_if<Polynomial>(&value)) return renamed(*p, mapping.symbols).hash();
    if (const auto* real = std::get_if<double>(&value))
      return core::hash_bytes(std::as_bytes(std::span(real, 1)));
    if (const auto* text = std::get_if<std::string>(&value)) return core::hash_text(*text);
    std::uint64_t hash = 0;
    for (const Polynomial& p : std::get<std::vector<Polynomial>>(value)) {
      const std::uint64_t element = renamed(p, mapping.symbols).hash();
      hash = unordered ? hash + core::hash_mix(element) : hash_combine(hash, element);
    }
    return hash;
  }

  const Rule& rule_;
  const Pattern& pattern_;
  std::vector<Symmetry> found_;
};

}  // namespace

std::vector<Symmetry> find_symmetries(const Rule& rule, const Pattern& pattern) {
  constexpr std::size_t kMostNodes = 6;  // tried in all orders
  // A guard might hold for one of two symmetric matches only.
  if (!rule.guard.empty() || pattern.nodes.size() > kMostNodes) return {};
  return SymmetryFinder(rule, pattern).run();
}

}  // namespace soapstone::rules
