// See reversal.h. Both sides are walked together from their results, once as source and target and
// once the other way round, under one renaming that grows; where operands may be exchanged, both
// ways are tried.
#include "generator/sides/reversal.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace soapstone::generator {
namespace {

using core::Graph;
using core::Polynomial;
using core::TensorId;

/// A renaming of inputs, by number, and of sizes, by id. Renamings are small, so they are copied.
struct RenamingOfRule {
  std::map<std::size_t, std::size_t> inputs;
  std::map<std::uint32_t, std::uint32_t> sizes;
};

/// False: `from` has another name already, or `to` is that of another one.
template <class Map>
bool bind_name(Map& names, typename Map::key_type from, typename Map::mapped_type to) {
  const auto [place, is_new] = names.emplace(from, to);
  if (!is_new) return place->second == to;
  for (const auto& [other, name] : names)
    if (other != from && name == to) return false;
  return true;
}

std::optional<std::uint32_t> plain_symbol(const Polynomial& size) {
  const auto symbols = size.symbols();
  if (symbols.size() != 1 || size != Polynomial(symbols[0])) return std::nullopt;
  return symbols[0].id;
}

bool unify(const Polynomial& from, const Polynomial& to, RenamingOfRule& names) {
  const auto a = plain_symbol(from), b = plain_symbol(to);
  if (a && b) return bind_name(names.sizes, *a, *b);
  if (from != to) return false;
  for (const core::Symbol symbol : from.symbols())
    if (!bind_name(names.sizes, symbol.id, symbol.id)) return false;
  return true;
}

bool unify(const std::vector<Polynomial>& from, const std::vector<Polynomial>& to,
           RenamingOfRule& names) {
  if (from.size() != to.size()) return false;
  for (std::size_t k = 0; k < from.size(); ++k)
    if (!unify(from[k], to[k], names)) return false;
  return true;
}

bool unify(const core::Attributes& from, const core::Attributes& to, RenamingOfRule& names) {
  for (const auto& [name, value] : from.values()) {
    const core::AttributeValue& other = *to.find(name);
    if (value.index() != other.index()) return false;
    if (const auto* size = std::get_if<Polynomial>(&value)) {
      if (!unify(*size, std::get<Polynomial>(other), names)) return false;
    } else if (const auto* list = std::get_if<std::vector<Polynomial>>(&value)) {
      if (!unify(*list, std::get<std::vector<Polynomial>>(other), names)) return false;
    } else if (value != other) {
      return false;
    }
  }
  return true;
}

using Rest = std::function<bool(const RenamingOfRule&)>;

class Walk {
 public:
  Walk(const Graph& from, const Graph& to) : from_(from), to_(to) {}

  /// Whether some renaming makes results from number `k` on those of the other side, and `rest`
  /// agrees with it.
  bool results(std::size_t k, const RenamingOfRule& names, const Rest& rest) const {
    if (k == from_.outputs().size()) return rest(names);
    return tensor(from_.outputs()[k], to_.outputs()[k], names,
                  [&](const RenamingOfRule& more) { return results(k + 1, more, rest); });
  }

 private:
  bool tensor(TensorId a, TensorId b, RenamingOfRule names, const Rest& rest) const {
    if (!a.valid() || !b.valid()) return a.valid() == b.valid() && rest(names);
    const core::Tensor &from = from_.tensor(a), &to = to_.tensor(b);
    if (from.producer.valid() != to.producer.valid()) return false;
    if (from.value || to.value)
      return from.value && to.value && *from.value == *to.value && rest(names);
    if (!from.producer.valid())
      return from.type.data_type == to.type.data_type &&
             bind_name(names.inputs, input(from_, a), input(to_, b)) &&
             unify(from.type.shape, to.type.shape, names) && rest(names);
    const core::Node &made = from_.node(from.producer), &other = to_.node(to.producer);
    if (made.op != other.op || made.inputs.size() != other.inputs.size() ||
        place(made, a) != place(other, b) || !unify(made.attributes, other.attributes, names))
      return false;
    if (operands(made, other, 0, false, names, rest)) return true;
    return made.op->commutative && made.inputs.size() >= 2 &&
           operands(made, other, 0, true, names, rest);
  }

  bool operands(const core::Node& a, const core::Node& b, std::size_t k, bool exchanged,
                const RenamingOfRule& names, const Rest& rest) const {
    if (k == a.inputs.size()) return rest(names);
    const std::size_t other = exchanged && k < 2 ? 1 - k : k;
    return tensor(a.inputs[k], b.inputs[other], names, [&](const RenamingOfRule& more) {
      return operands(a, b, k + 1, exchanged, more, rest);
    });
  }

  static std::size_t input(const Graph& side, TensorId id) {
    return static_cast<std::size_t>(std::ranges::find(side.inputs(), id) - side.inputs().begin());
  }
  static std::size_t place(const core::Node& node, TensorId result) {
    return static_cast<std::size_t>(std::ranges::find(node.outputs, result) - node.outputs.begin());
  }

  const Graph &from_, &to_;
};

}  // namespace

bool is_own_reverse(const Sides& sides) {
  const Walk there(sides.source, sides.target), back(sides.target, sides.source);
  return there.results(0, {}, [&](const RenamingOfRule& names) {
    return back.results(0, names, [](const RenamingOfRule&) { return true; });
  });
}

}  // namespace soapstone::generator
