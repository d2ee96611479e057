// See digits.h.
#include "verifier/digits/digits.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {

Linear IndexDigits::unnamed(const Linear& position) const {
  const auto known = std::find_if(names_.begin(), names_.end(),
                                  [&](const Names& names) { return names.sum == position; });
  return known == names_.end() ? position : known->position;
}

std::optional<std::vector<Linear>> IndexDigits::named(const Linear& position,
                                                      const std::vector<Linear>& radices) {
  for (const Names& names : names_) {
    if (names.position == position && names.radices == radices) return names.digits;
  }
  std::vector<Symbol> symbols;
  position.append_symbols(symbols);
  const bool fixed = std::all_of(symbols.begin(), symbols.end(), [&](Symbol symbol) {
    return !Arena::is_variable(symbol) || has(outer_, symbol);
  });
  const bool positive = std::all_of(radices.begin(), radices.end(), [&](const Linear& radix) {
    return proof_.implied({}, at_least(radix, 1));
  });
  if (!fixed || !positive) return std::nullopt;
  Names names{position, radices, {}, 0};
  FactSet definition;
  std::vector<Symbol> defined;
  for (const Linear& radix : radices) {
    // ⌊position / …⌋ is not bounded; the digits behind it are whatever the position is.
    const bool first = names.digits.empty();
    if (radix == Linear(1) && !first) {
      names.digits.emplace_back(0);
      continue;
    }
    const Symbol digit = proof_.arena.fresh();
    outer_.push_back(digit);
    defined.push_back(digit);
    if (!first) {
      insert(definition, at_least(digit, 0));
      insert(definition, less(digit, radix));
    }
    names.sum = names.sum * radix + digit;
    names.digits.emplace_back(digit);
  }
  insert(definition, equal(names.sum, position));
  proof_.oracle.define(std::move(defined), std::move(definition));
  names_.push_back(std::move(names));
  return names_.back().digits;
}

/// The size itself if it is not split.
std::vector<Linear> IndexDigits::factors_of(const Linear& size) {
  for (const auto& [product, factors] : order_.factorizations) {
    if (product == size) return factors;
  }
  constexpr std::int64_t kLargestStep = 8;
  const std::int64_t divisor = size.is_constant() ? 1 : size.common_divisor();
  if (!order_.splits_steps || divisor < 2 || divisor > kLargestStep) return {size};
  expansion_.met = true;
  if (!expansion_.wanted) return {size};
  return {size.divided(divisor), divisor};
}

Linear IndexDigits::counter(const Linear& low, const Linear& high, FactSet& ranges,
                            std::vector<Symbol>& symbols) {
  const std::vector<Linear> factors = low == Linear(0) ? factors_of(high) : std::vector{high - low};
  Linear value;
  for (const Linear& radix : factors) {
    // A range of one number needs no symbol.
    if (radix == Linear(1)) continue;
    const Symbol digit = proof_.arena.fresh();
    symbols.push_back(digit);
    insert(ranges, at_least(digit, 0));
    insert(ranges, less(digit, radix));
    value = value * radix + digit;
  }
  return value + low;
}

}  // namespace soapstone::verifier
