// Names of symbols, and polynomials as text.
#include <algorithm>

#include "core/graph/polynomial.h"
#include "core/syntax/lexer.h"

namespace soapstone::core {

Symbol SymbolTable::intern(std::string_view name) {
  if (auto known = find(name)) return *known;
  names_.emplace_back(name);
  return {static_cast<std::uint32_t>(names_.size() - 1)};
}

std::optional<Symbol> SymbolTable::find(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at == names_.end()) return std::nullopt;
  return Symbol{static_cast<std::uint32_t>(at - names_.begin())};
}

const std::string& SymbolTable::name(Symbol symbol) const {
  CHECK(symbol.id < names_.size(), "symbol of another table");
  return names_[symbol.id];
}

namespace {

std::string symbol_text(Symbol symbol, const SymbolTable& names) {
  if (symbol.is_index()) return "i" + std::to_string(symbol.id - Symbol::kFirstIndex);
  return quote_symbol(names.name(symbol));
}

/// Appends `value`, with the sign as an operator unless it comes first.
void append_number(std::string& text, std::int64_t value) {
  std::string digits = std::to_string(value);
  if (text.empty()) {
    text = digits;
  } else if (value < 0) {
    text += " - " + digits.substr(1);
  } else {
    text += " + " + digits;
  }
}

}  // namespace

std::string Polynomial::to_string(const SymbolTable& names) const {
  std::string text;
  for (const Term& term : terms()) {
    bool need_star = true;
    if (term.coefficient == 1 || term.coefficient == -1) {
      const bool minus = term.coefficient < 0;
      text += text.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
      need_star = false;
    } else {
      append_number(text, term.coefficient);
    }
    for (Symbol symbol : term.monomial) {
      if (need_star) text += '*';
      text += symbol_text(symbol, names);
      need_star = true;
    }
  }
  if (constant_ != 0 || text.empty()) append_number(text, constant_);
  return text;
}

}  // namespace soapstone::core
