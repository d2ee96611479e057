// Makes the digits of a comprehension and rewrites its reads over them.
#include "ops/partition/digit_space.h"

#include <algorithm>

#include "ops/definition/registry.h"
#include "ops/partition/radices.h"

namespace soapstone::ops::partition {
namespace {

using analysis::Ranges;

std::vector<Digit> digits_between(const Breaks& breaks) {
  std::vector<Digit> digits;
  for (std::size_t k = breaks.size(); k-- > 1;)
    digits.push_back({breaks[k - 1], breaks[k] / breaks[k - 1]});
  if (digits.empty()) digits.push_back({1, 1});
  return digits;
}

}  // namespace

DigitSpace::DigitSpace(const core::Graph& graph, core::NodeId node)
    : semantics_(semantics_of(graph, node)), dims_(analysis::tensor_dims(graph, node, semantics_)),
      accesses_(accesses_of(semantics_, dims_)) {
  find_digits();
  if (!has_digits_) return;
  for (Access& access : accesses_) {
    for (Polynomial& p : access.index) p = substitute(p);
    for (auto* constraints : {&access.bounds, &access.selections})
      for (Constraint& c : *constraints) c.expression = substitute(c.expression);
  }
}

void DigitSpace::find_digits() {
  const Radices radices = radices_of(semantics_, dims_, accesses_);
  next_symbol_ = Symbol::kFirstIndex;
  for (const auto& [symbol, breaks] : radices.variables)
    next_symbol_ = std::max(next_symbol_, symbol.id + 1);
  for (const auto& [symbol, breaks] : radices.variables) add_variable(symbol, breaks);
  tensor_digits_.resize(dims_.size());
  for (std::size_t k = 0; k < radices.inputs.size(); ++k)
    for (std::size_t d = 0; d < radices.inputs[k].size(); ++d)
      for (const Digit& digit : digits_between(radices.inputs[k][d]))
        tensor_digits_[k].push_back({d, digit.stride, digit.size});
  for (std::size_t s = 0; s < semantics_.stages.size(); ++s) {
    stage_index_.emplace_back();
    for (std::size_t d = 0; d < semantics_.stages[s].index.size(); ++d)
      for (const VariableDigit& digit : digits_of(semantics_.stages[s].index[d])) {
        tensor_digits_[semantics_.input_count + s].push_back({d, digit.stride, digit.size});
        stage_index_[s].push_back(digit.symbol);
        stage_ranges_[digit.symbol] = {0, digit.size};
      }
  }
}

void DigitSpace::add_variable(Symbol variable, const Breaks& breaks) {
  std::vector<VariableDigit>& list = variables_[variable];
  const std::vector<Digit> digits = digits_between(breaks);
  has_digits_ |= digits.size() > 1;
  for (const Digit& digit : digits) {
    const Symbol symbol = digits.size() == 1 ? variable : Symbol{next_symbol_++};
    list.push_back({symbol, digit.stride, digit.size});
  }
}

std::span<const VariableDigit> DigitSpace::digits_of(Symbol variable) const {
  const auto found = variables_.find(variable);
  return found == variables_.end() ? std::span<const VariableDigit>() : found->second;
}

Polynomial DigitSpace::substitute(const Polynomial& p) const {
  if (!has_digits_) return p;
  return p.substitute([&](Symbol symbol) -> std::optional<Polynomial> {
    const auto digits = digits_of(symbol);
    if (digits.size() < 2) return std::nullopt;
    Polynomial sum;
    for (const VariableDigit& d : digits) sum += Polynomial(d.symbol) * Polynomial(d.stride);
    return sum;
  });
}

std::vector<analysis::Digits> DigitSpace::groups_of(const Access& access,
                                                    const Ranges& ranges) const {
  // A variable with one value left is that number: it decides which part of a joined tensor this
  // is.
  const auto value_of = [&](Symbol symbol) -> std::optional<Polynomial> {
    const auto range = ranges.find(symbol);
    if (range == ranges.end() || range->second.high - range->second.low != 1) return std::nullopt;
    return Polynomial(range->second.low);
  };
  const std::span<const DimDigit> digits = digits_of(access.tensor);
  std::vector<analysis::Digits> groups;
  for (std::size_t first = 0; first < digits.size();) {
    std::size_t end = access.is_flat ? digits.size() : first;
    core::Dims radices;
    while (end < digits.size() && digits[end].dim == digits[first].dim) ++end;
    for (std::size_t k = first; k < end; ++k) radices.push_back(digits[k].size);
    const Polynomial& index = access.index[access.is_flat ? 0 : digits[first].dim];
    for (analysis::Digits group : analysis::split_flat(index.substitute(value_of), radices, ranges))
      groups.push_back({first + group.first, first + group.last, std::move(group.position)});
    first = end;
  }
  return groups;
}

bool DigitSpace::add_binders(std::span<const Binder> binders, Ranges& ranges) const {
  for (const Binder& b : binders) {
    const auto digits = digits_of(b.variable);
    for (const VariableDigit& d : digits) ranges[d.symbol] = {0, d.size};
    if (!digits.empty()) continue;
    const Interval values{analysis::interval_of(substitute(b.low), ranges).low,
                          analysis::interval_of(substitute(b.high), ranges).high - 1};
    if (analysis::is_empty(values)) return false;
    ranges[b.variable] = values;
  }
  return true;
}

}  // namespace soapstone::ops::partition
