// See taso_sizes.h. An unknown is only ever replaced by a sum without minus signs, so that sizes of
// inputs stay positive; the other equations become conditions of the rule.
#include "rules/taso/taso_sizes.h"

#include <algorithm>

namespace soapstone::rules::taso {
namespace {

bool has_minus(const Polynomial& p) {
  return p.constant() < 0 ||
         std::ranges::any_of(p.terms(), [](const auto& term) { return term.coefficient < 0; });
}

Polynomial replaced(const Polynomial& p, Symbol symbol, const Polynomial& by) {
  return p.substitute([&](Symbol s) {
    return s == symbol ? std::optional<Polynomial>(by) : std::optional<Polynomial>();
  });
}

}  // namespace

Polynomial SizeEquations::resolve(const Polynomial& p) const {
  return p.substitute([&](Symbol s) -> std::optional<Polynomial> {
    const auto known = std::ranges::find(solved_, s, [](const auto& entry) { return entry.first; });
    return known == solved_.end() ? std::nullopt : std::optional(known->second);
  });
}

const SizeEquations::WindowCount* SizeEquations::window_count(Symbol symbol) const {
  const auto known = std::ranges::find(counts_, symbol, &WindowCount::count);
  return known == counts_.end() ? nullptr : &*known;
}

bool SizeEquations::counts_windows(const Polynomial& p) const {
  return std::ranges::any_of(p.symbols(), [&](Symbol s) { return window_count(s) != nullptr; });
}

Polynomial SizeEquations::windows(const Polynomial& size, const Sliding& window) {
  if (window.stride == 1) return size + (window.pads - window.kernel + 1);
  const Polynomial resolved = resolve(size);
  for (const WindowCount& known : counts_)
    if (known.window == window && resolve(known.size) == resolved) return known.count;
  counts_.push_back({Symbol{next_++}, resolved, window});
  return counts_.back().count;
}

std::optional<Polynomial> SizeEquations::difference_of_windowed(const Polynomial& p) const {
  if (p.constant() != 0 || p.terms().size() != 2) return std::nullopt;
  const auto& a = p.terms()[0];
  const auto& b = p.terms()[1];
  if (a.monomial.size() != 1 || b.monomial.size() != 1 || a.coefficient != -b.coefficient)
    return std::nullopt;
  const WindowCount* left = window_count(a.monomial[0]);
  const WindowCount* right = window_count(b.monomial[0]);
  if (!left || !right || left->window != right->window) return std::nullopt;
  return resolve(left->size - right->size);
}

std::optional<std::pair<Symbol, Polynomial>> SizeEquations::solution(const Polynomial& p) const {
  const std::vector<Symbol> symbols = p.symbols();
  for (auto s = symbols.rbegin(); s != symbols.rend(); ++s) {
    const std::int64_t factor = p.coefficient(*s);
    if ((factor != 1 && factor != -1) || window_count(*s)) continue;
    const Polynomial rest = p - Polynomial(*s) * factor;
    const Polynomial value = factor == 1 ? -rest : rest;
    if (!value.mentions(*s) && !has_minus(value) && !counts_windows(value))
      return std::pair(*s, value);
  }
  return std::nullopt;
}

core::Status SizeEquations::equate(const Polynomial& a, const Polynomial& b) {
  std::vector<Polynomial> todo = std::move(open_);
  open_.clear();
  todo.push_back(a - b);
  while (!todo.empty()) {
    const Polynomial p = resolve(todo.back());
    todo.pop_back();
    if (p == Polynomial(0)) continue;
    if (!has_minus(p) || !has_minus(-p))
      return core::invalid_input("no sizes satisfy all operators of this side");
    if (const auto sizes = difference_of_windowed(p)) {
      todo.push_back(*sizes);
    } else if (const auto found = solution(p)) {
      for (auto& [symbol, value] : solved_) value = replaced(value, found->first, found->second);
      solved_.push_back(*found);
      todo.insert(todo.end(), open_.begin(), open_.end());
      open_.clear();
    } else if (std::ranges::find(open_, p) == open_.end()) {
      open_.push_back(p);
    }
  }
  return core::Done{};
}

}  // namespace soapstone::rules::taso
