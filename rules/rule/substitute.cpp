// See substitute.h.
#include "rules/rule/substitute.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace soapstone::rules {

using core::Attributes;
using core::Polynomial;
using core::Symbol;

bool needs_number(const core::AttributeSchema& attribute) {
  using enum core::AttributeRole;
  constexpr std::array kNumbersOnly = {kStride,    kDilation,  kGroup,       kAxis,
                                       kAxes,      kStep,      kPermutation, kFlag,
                                       kKeepsRank, kCountsPad, kGap};
  return attribute.kind() == core::AttributeKind::kReal ||
         std::ranges::find(kNumbersOnly, attribute.role) != kNumbersOnly.end();
}

namespace {

void collect_symbols(const core::AttributeValue& value, std::vector<Symbol>& symbols) {
  const auto add = [&](const Polynomial& p) {
    for (Symbol s : p.symbols()) symbols.push_back(s);
  };
  if (const auto* p = std::get_if<Polynomial>(&value)) add(*p);
  if (const auto* list = std::get_if<std::vector<Polynomial>>(&value))
    for (const Polynomial& p : *list) add(p);
}

void sort_unique(std::vector<Symbol>& symbols) {
  std::ranges::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
}

}  // namespace

std::vector<Symbol> parameters_of(const Graph& source, const Graph& target, bool real) {
  std::vector<Symbol> symbols;
  for (const Graph* side : {&source, &target})
    for (NodeId id : side->order()) {
      const core::Node& node = side->node(id);
      for (const core::AttributeSchema& schema : node.op->attributes) {
        const bool is_real = schema.kind() == core::AttributeKind::kReal;
        const auto* value = node.attributes.find(schema.name);
        if (value && needs_number(schema) && (is_real || !real)) collect_symbols(*value, symbols);
      }
    }
  sort_unique(symbols);
  return symbols;
}

std::vector<Symbol> attribute_symbols(const Graph& side) {
  std::vector<Symbol> symbols;
  for (NodeId id : side.order())
    for (const auto& [name, value] : side.node(id).attributes.values())
      collect_symbols(value, symbols);
  sort_unique(symbols);
  return symbols;
}

Polynomial substitute(const Polynomial& p, const Bindings& values) {
  if (p.is_constant() || values.empty()) return p;
  return p.substitute([&](Symbol s) -> std::optional<Polynomial> {
    if (s.id < values.size() && values[s.id]) return Polynomial(*values[s.id]);
    return std::nullopt;
  });
}

namespace {

/// The value of a polynomial in symbols that stand for reals; theirs are the bits of doubles. None:
/// a symbol has no value.
std::optional<double> real_value(const Polynomial& p, const Bindings& values) {
  double total = 0;
  bool first = true;
  const auto add = [&](double part) {  // 0 + (−0) would lose the sign
    total = std::exchange(first, false) ? part : total + part;
  };
  for (const Polynomial::Term& term : p.terms()) {
    double product = term.coefficient == 1 ? 1 : static_cast<double>(term.coefficient);
    for (Symbol s : term.monomial) {
      if (s.id >= values.size() || !values[s.id]) return std::nullopt;
      product *= std::bit_cast<double>(*values[s.id]);
    }
    add(product);
  }
  if (p.constant() != 0 || first) add(static_cast<double>(p.constant()));
  return total;
}

}  // namespace

Attributes substitute(const core::OpSchema& op, const Attributes& attributes,
                      const Bindings& values) {
  Attributes result = attributes;
  if (values.empty()) return result;
  for (const core::AttributeSchema& schema : op.attributes) {
    const core::AttributeValue* value = attributes.find(schema.name);
    if (!value) continue;
    if (const auto* p = std::get_if<Polynomial>(value); p && !p->is_constant()) {
      if (schema.kind() != core::AttributeKind::kReal) {
        result.set(schema.name, substitute(*p, values));
      } else if (const auto real = real_value(*p, values)) {
        result.set(schema.name, *real);
      }
    } else if (const auto* list = std::get_if<std::vector<Polynomial>>(value)) {
      if (std::ranges::all_of(*list, &Polynomial::is_constant)) continue;
      std::vector<Polynomial> numbers;
      for (const Polynomial& element : *list) numbers.push_back(substitute(element, values));
      result.set(schema.name, std::move(numbers));
    }
  }
  return result;
}

namespace {

/// Puts numbers for symbols; false if one does not fit into 64 bits.
bool put_numbers(Polynomial& p, const std::vector<std::int64_t>& sizes) {
  if (p.is_constant()) return true;
  const auto number = p.checked_evaluate([&](Symbol s) { return sizes[s.id]; });
  if (number) p = *number;
  return number.has_value();
}

bool put_numbers(core::AttributeValue& value, bool is_real,
                 const std::vector<std::int64_t>& sizes) {
  if (auto* p = std::get_if<Polynomial>(&value)) {
    if (p->is_constant()) return true;
    if (!is_real) return put_numbers(*p, sizes);
    const auto real = real_value(*p, Bindings(sizes.begin(), sizes.end()));
    if (real) value = *real;
    return real.has_value();
  }
  auto* list = std::get_if<std::vector<Polynomial>>(&value);
  return !list || std::ranges::all_of(*list, [&](Polynomial& p) { return put_numbers(p, sizes); });
}

bool is_symbolic(const core::AttributeValue& value) {
  if (const auto* p = std::get_if<Polynomial>(&value)) return !p->is_constant();
  const auto* list = std::get_if<std::vector<Polynomial>>(&value);
  return list && !std::ranges::all_of(*list, &Polynomial::is_constant);
}

}  // namespace

std::optional<Attributes> with_numbers(const core::OpSchema& op, const Attributes& attributes,
                                       const std::vector<std::int64_t>& sizes) {
  Attributes result = attributes;
  for (const auto& [name, symbolic] : attributes.values()) {
    if (!is_symbolic(symbolic)) continue;
    const core::AttributeSchema* schema = op.find_attribute(name);
    core::AttributeValue value = symbolic;
    if (!put_numbers(value, schema && schema->kind() == core::AttributeKind::kReal, sizes))
      return std::nullopt;
    result.set(name, std::move(value));
  }
  return result;
}

}  // namespace soapstone::rules
