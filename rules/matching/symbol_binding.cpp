// See symbol_binding.h.
#include "rules/matching/symbol_binding.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/float16.h"
#include "ops/language/rational.h"

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;

namespace {

/// The element of a constant in a rule, which is of type f32, as that type has it.
double in_type(double value, core::DataType type) {
  switch (type) {
  case core::DataType::kFloat16:
    return core::float_from_f16(core::f16_from_float(static_cast<float>(value)));
  case core::DataType::kBFloat16:
    return core::float_from_bf16(core::bf16_from_float(static_cast<float>(value)));
  default:
    return value;
  }
}

}  // namespace

bool is_wanted(const core::Literal& value, const SlotPattern& wanted) {
  const core::Literal &a = value, &b = *wanted.literal;
  if (a.hash() == b.hash()) return a == b;
  // The same numbers in another floating type, as nearly as that type has them. f64 has more digits
  // than the rule: only numbers that are meant exactly are the same there.
  if (!core::is_floating(a.data_type()) || !core::is_floating(b.data_type())) return false;
  if (a.data_type() == b.data_type() || a.dims() != b.dims()) return false;
  const bool precise = a.data_type() == core::DataType::kFloat64;
  return std::ranges::equal(a.to_doubles(), b.to_doubles(), [&](double in_graph, double in_rule) {
    const ops::Rational exact = ops::to_rational(in_rule);
    return in_graph == in_type(in_rule, a.data_type()) &&
           (!precise || ops::canonical_constant(exact) == exact);
  });
}

bool is_empty(const core::TensorType& type) {
  return std::ranges::find(type.shape, Polynomial(0)) != type.shape.end();
}

SymbolBinding::SymbolBinding(std::size_t symbols, std::size_t equations)
    : numbers_(symbols), bound_(symbols), met_(equations) {
  trail_.reserve(symbols);
}

void SymbolBinding::undo_symbols(std::size_t count) {
  for (; trail_.size() > count; trail_.pop_back()) bound_[trail_.back()] = false;
}

void SymbolBinding::take(const SymbolBinding& other, std::span<const std::uint32_t> symbols,
                         std::span<const std::pair<std::uint32_t, std::uint32_t>> equations) {
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    if (other.bound_[k] == 0) continue;
    bound_[symbols[k]] = true;
    numbers_[symbols[k]] = other.numbers_[k];
    trail_.push_back(symbols[k]);
  }
  for (const auto& [here, there] : equations) met_[here] = other.met_[there];
}

bool SymbolBinding::match_number(const SizePattern& wanted, std::int64_t number) {
  const auto k = static_cast<std::size_t>(wanted.value);
  switch (wanted.kind) {
  case SizePattern::Kind::kNumber:
    return wanted.value == number;
  case SizePattern::Kind::kLater:
    met_[k] = number;
    return may_be_met(pattern_->equations[k], number);
  case SizePattern::Kind::kSymbol:
    break;
  }
  if (bound_[k]) return numbers_[k] == number;
  bound_[k] = true;
  numbers_[k] = number;
  trail_.push_back(static_cast<std::uint32_t>(k));
  return true;
}

/// False: all symbols of the equation are bound already, to other numbers. Most rules leave it to
/// the end; of many pieces of a tensor it tells which is which.
bool SymbolBinding::may_be_met(const Equation& equation, std::int64_t number) const {
  bool known = true;
  const auto value = equation.polynomial.checked_evaluate([&](Symbol s) -> std::int64_t {
    known = known && bound_[s.id] != 0;
    return known ? numbers_[s.id] : 0;
  });
  return !known || value == number;
}

bool SymbolBinding::match_real(const SizePattern& wanted, double number) {
  return match_number(wanted, std::bit_cast<std::int64_t>(number));
}

bool SymbolBinding::match_shape(const std::vector<SizePattern>& wanted, const core::Shape& shape) {
  if (wanted.size() != shape.size()) return false;
  for (std::size_t d = 0; d < wanted.size(); ++d)
    if (!match_size(wanted[d], shape[d])) return false;
  return true;
}

bool SymbolBinding::match_attributes(const NodePattern& wanted,
                                     const core::Attributes& attributes) {
  if (wanted.attributes.size() != attributes.values().size()) return false;
  auto pattern = wanted.attributes.begin();
  for (const auto& [name, value] : attributes.values())
    if (!match_attribute(*pattern++, value)) return false;
  return true;
}

bool SymbolBinding::match_attribute(const AttributePattern& wanted,
                                    const core::AttributeValue& value) {
  switch (wanted.kind) {
  case AttributePattern::Kind::kText: {
    const auto* text = std::get_if<std::string>(&value);
    return text && *text == wanted.text;
  }
  case AttributePattern::Kind::kReal: {
    // Models have their attributes in fp32: numbers of the same nearest float are one.
    const auto* real = std::get_if<double>(&value);
    return real && static_cast<float>(*real) == static_cast<float>(wanted.real);
  }
  case AttributePattern::Kind::kRealSymbol: {
    const auto* real = std::get_if<double>(&value);
    return real && match_real(wanted.elements[0], *real);
  }
  case AttributePattern::Kind::kInts:
    break;
  }
  if (const auto* p = std::get_if<Polynomial>(&value))
    return !wanted.is_list && match_size(wanted.elements[0], *p);
  const auto* list = std::get_if<std::vector<Polynomial>>(&value);
  if (!list || !wanted.is_list || list->size() != wanted.elements.size()) return false;
  for (std::size_t k = 0; k < list->size(); ++k)
    if (!match_size(wanted.elements[k], (*list)[k])) return false;
  return true;
}

bool SymbolBinding::evaluate(const Polynomial& p, std::int64_t& result) const {
  const auto number = p.checked_evaluate([&](Symbol s) { return numbers_[s.id]; });
  if (number) result = *number;
  return number.has_value();
}

bool SymbolBinding::solve_equations() {
  for (std::uint32_t e : pattern_->equation_order) {
    const Equation& equation = pattern_->equations[e];
    const std::int64_t met = equation.kind == Equation::Kind::kStated ? 0 : met_[e];
    std::int64_t factor = 0, rest = 0;
    if (equation.solve_for < 0) {
      if (!evaluate(equation.polynomial, rest) || rest != met) return false;
      continue;
    }
    if (!evaluate(equation.factor, factor) || !evaluate(equation.rest, rest)) return false;
    if (equation.kind == Equation::Kind::kChosen) {
      if (factor > rest) return false;
      numbers_[static_cast<std::size_t>(equation.solve_for)] = std::midpoint(factor, rest);
      continue;
    }
    if (factor == 0 || (met - rest) % factor != 0) return false;
    const std::int64_t solution = (met - rest) / factor;
    if (equation.of_size && solution < 0) return false;
    numbers_[static_cast<std::size_t>(equation.solve_for)] = solution;
  }
  return true;
}

}  // namespace soapstone::rules
