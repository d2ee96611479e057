// See pattern_binding.h.
#include "rules/pattern_binding.h"

#include <bit>

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;

namespace {

bool equals(const core::Tensor& tensor, const SlotPattern& wanted) {
  if (!tensor.value) return false;
  const core::Literal &a = *tensor.value, &b = *wanted.literal;
  if (a.hash() == b.hash()) return a == b;
  // The same numbers in another floating type.
  if (!core::is_floating(a.data_type()) || !core::is_floating(b.data_type())) return false;
  return a.data_type() != b.data_type() && a.dims() == b.dims() && a.to_doubles() == b.to_doubles();
}

bool is_empty(const core::TensorType& type) {
  return std::ranges::find(type.shape, Polynomial(0)) != type.shape.end();
}

}  // namespace

PatternBinding::PatternBinding(const Graph& graph, std::size_t slots, std::size_t symbols,
                               std::size_t equations)
    : graph_(graph), slots_(slots), numbers_(symbols), bound_(symbols), met_(equations) {
  slot_trail_.reserve(slots);
  symbol_trail_.reserve(symbols);
}

void PatternBinding::undo(Mark mark) {
  for (; slot_trail_.size() > mark.slots; slot_trail_.pop_back())
    slots_[static_cast<std::size_t>(slot_trail_.back())] = TensorId::none();
  for (; symbol_trail_.size() > mark.symbols; symbol_trail_.pop_back())
    bound_[symbol_trail_.back()] = false;
}

bool PatternBinding::bind_outputs(const NodePattern& wanted, const core::Node& node) {
  for (std::size_t k = 0; k < wanted.outputs.size(); ++k)
    if (!bind(wanted.outputs[k], node.outputs[k])) return false;
  return true;
}

bool PatternBinding::bind_inputs(const NodePattern& wanted, const core::Node& node,
                                 bool exchanged) {
  for (std::size_t k = 0; k < wanted.inputs.size(); ++k)
    if (!bind(wanted.inputs[k], node.inputs[exchanged && k < 2 ? 1 - k : k])) return false;
  return true;
}

bool PatternBinding::bind(std::int32_t slot, TensorId id) {
  if (slot < 0 || !id.valid()) return slot < 0 && !id.valid();
  TensorId& at = slots_[static_cast<std::size_t>(slot)];
  const SlotPattern& wanted = pattern_->slots[static_cast<std::size_t>(slot)];
  if (wanted.kind == SlotPattern::Kind::kLiteral) return equals(graph_.tensor(id), wanted);
  if (at.valid()) return at == id;
  // Proofs are about sizes from 1 on.
  if (is_empty(graph_.tensor(id).type)) return false;
  if (wanted.kind == SlotPattern::Kind::kInput && !admits(wanted, id)) return false;
  at = id;
  slot_trail_.push_back(slot);
  return true;
}

bool PatternBinding::admits(const SlotPattern& wanted, TensorId id) {
  const core::TensorType& type = graph_.tensor(id).type;
  const bool any_float = wanted.data_type == core::DataType::kFloat32;
  if (any_float ? !core::is_floating(type.data_type) : type.data_type != wanted.data_type)
    return false;
  if (!type.shape_known || type.shape.size() != wanted.dims.size()) return false;
  if (wanted.constant && !graph_.is_constant_expression(id)) return false;
  for (std::size_t d = 0; d < wanted.dims.size(); ++d)
    if (!match_size(wanted.dims[d], type.shape[d])) return false;
  return true;
}

bool PatternBinding::match_number(const SizePattern& wanted, std::int64_t number) {
  const auto k = static_cast<std::size_t>(wanted.value);
  switch (wanted.kind) {
  case SizePattern::Kind::kNumber:
    return wanted.value == number;
  case SizePattern::Kind::kLater:
    met_[k] = number;
    return true;
  case SizePattern::Kind::kSymbol:
    break;
  }
  if (bound_[k]) return numbers_[k] == number;
  bound_[k] = true;
  numbers_[k] = number;
  symbol_trail_.push_back(static_cast<std::uint32_t>(k));
  return true;
}

bool PatternBinding::match_attributes(const NodePattern& wanted, const core::Node& node) {
  if (wanted.attributes.size() != node.attributes.values().size()) return false;
  auto pattern = wanted.attributes.begin();
  for (const auto& [name, value] : node.attributes.values())
    if (!match_attribute(*pattern++, value)) return false;
  return true;
}

bool PatternBinding::match_attribute(const AttributePattern& wanted,
                                     const core::AttributeValue& value) {
  switch (wanted.kind) {
  case AttributePattern::Kind::kText: {
    const auto* text = std::get_if<std::string>(&value);
    return text && *text == wanted.text;
  }
  case AttributePattern::Kind::kReal: {
    const auto* real = std::get_if<double>(&value);
    return real && *real == wanted.real;
  }
  case AttributePattern::Kind::kRealSymbol: {
    const auto* real = std::get_if<double>(&value);
    return real && match_number(wanted.elements[0], std::bit_cast<std::int64_t>(*real));
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

bool PatternBinding::evaluate(const Polynomial& p, std::int64_t& result) const {
  const auto number = p.checked_evaluate([&](Symbol s) { return numbers_[s.id]; });
  if (number) result = *number;
  return number.has_value();
}

bool PatternBinding::solve_equations() {
  for (std::uint32_t e : pattern_->equation_order) {
    const Equation& equation = pattern_->equations[e];
    std::int64_t factor = 0, rest = 0;
    if (equation.solve_for < 0) {
      if (!evaluate(equation.polynomial, rest) || rest != met_[e]) return false;
      continue;
    }
    if (!evaluate(equation.factor, factor) || !evaluate(equation.rest, rest)) return false;
    if (factor == 0 || (met_[e] - rest) % factor != 0) return false;
    const std::int64_t solution = (met_[e] - rest) / factor;
    if (equation.of_size && solution < 0) return false;
    numbers_[static_cast<std::size_t>(equation.solve_for)] = solution;
  }
  return true;
}

}  // namespace soapstone::rules
