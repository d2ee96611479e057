// See flat_position.h. Whoever asks proves which of the ways to divide has a rest in range.
#include "verifier/digits/flat_position.h"

#include <algorithm>
#include <utility>

namespace soapstone::verifier {
namespace {

/// position = quotient · radix + rest, by the number `radix`.
std::pair<Linear, Linear> split_by_number(const Linear& position, std::int64_t radix) {
  Linear quotient;
  Linear rest;
  for (const Linear::Part& part : position.parts()) {
    const bool divisible = part.coefficient % radix == 0;
    (divisible ? quotient : rest) =
        (divisible ? quotient : rest) +
        Linear::product(part.monomial, divisible ? part.coefficient / radix : part.coefficient);
  }
  const std::int64_t constant = position.constant();
  const std::int64_t high = constant >= 0 ? constant / radix : -((-constant + radix - 1) / radix);
  return {quotient + high, rest + (constant - high * radix)};
}

/// position = quotient · radix + rest by long division: every summand of the position that is a
/// multiple of `leading`, a summand of the radix with coefficient ±1 or the only one, goes into the
/// quotient.
std::pair<Linear, Linear> split_by(const Linear& position, const Linear& radix,
                                   const Linear::Part& leading) {
  constexpr int kMaxSteps = 200;
  Linear quotient;
  Linear rest = position;
  for (int step = 0; step < kMaxSteps; ++step) {
    const auto part =
        std::find_if(rest.parts().begin(), rest.parts().end(), [&](const Linear::Part& each) {
          return each.coefficient % leading.coefficient == 0 &&
                 each.monomial.divided_by(leading.monomial);
        });
    if (part == rest.parts().end()) return {quotient, rest};
    const Linear digit = Linear::product(*part->monomial.divided_by(leading.monomial),
                                         part->coefficient / leading.coefficient);
    quotient = quotient + digit;
    rest = rest - digit * radix;
  }
  throw OutOfBudget{"a reshape by a size that is a long sum"};
}

/// All ways to split; the caller proves which of them has a rest in range.
std::vector<std::pair<Linear, Linear>> splits_by(const Linear& position, const Linear& radix) {
  if (radix.is_constant()) {
    // Nothing is at any position of an empty tensor.
    if (radix.constant() < 1) return {};
    return {split_by_number(position, radix.constant())};
  }
  std::vector<std::pair<Linear, Linear>> result;
  for (const Linear::Part& leading : radix.parts()) {
    const bool alone = radix.parts().size() == 1 && radix.constant() == 0;
    if (!alone && leading.coefficient != 1 && leading.coefficient != -1) continue;
    auto split = split_by(position, radix, leading);
    if (std::find(result.begin(), result.end(), split) == result.end()) {
      result.push_back(std::move(split));
    }
  }
  return result;
}

}  // namespace

std::optional<std::vector<Linear>>
digits_of(const Linear& position, std::span<const Linear> radices, const InRange& in_range) {
  std::size_t k = radices.size();
  while (k > 0 && radices[k - 1] == Linear(1)) --k;
  std::vector<Linear> tail(radices.size() - k, Linear(0));
  if (k == 0) {
    if (!(position == Linear(0))) return std::nullopt;
    return tail;
  }
  const Linear& radix = radices[k - 1];
  const bool last =
      std::all_of(radices.begin(), radices.begin() + static_cast<std::ptrdiff_t>(k) - 1,
                  [](const Linear& size) { return size == Linear(1); });
  const auto splits =
      last ? std::vector{std::pair(Linear(0), position)} : splits_by(position, radix);
  // Offsets may have canceled a multiple of the radix: the second part of a split that stands
  // elsewhere in a concatenation is at o + (i − r − o), which is i − r.
  const bool may_shift = !last && !radix.is_constant();
  for (const std::int64_t shift : {0, 1, -1, 2, -2, 3, -3}) {
    if (shift != 0 && !may_shift) break;
    for (const auto& [quotient, remainder] : splits) {
      const Linear digit = remainder - radix.scaled(shift);
      if (!in_range(digit, radix)) continue;
      auto digits = digits_of(quotient + shift, radices.first(k - 1), in_range);
      if (!digits) continue;
      digits->push_back(digit);
      digits->insert(digits->end(), tail.begin(), tail.end());
      return digits;
    }
  }
  return std::nullopt;
}

}  // namespace soapstone::verifier
