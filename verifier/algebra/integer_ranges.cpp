// See integer_ranges.h. Bounds are below 2^100, so that their sums and products can be
// computed.
#include "verifier/algebra/integer_ranges.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/small_forms.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

constexpr int kLargestBoundedPower = 4;

std::optional<IntegerRange> bounded(IntegerRange range) {
  constexpr WideInteger kMost = static_cast<WideInteger>(1) << 100;
  if (range.low < -kMost || range.high > kMost) return std::nullopt;
  return range;
}

std::optional<IntegerRange> product_of(const IntegerRange& a, const IntegerRange& b) {
  // Both are below 2^100, but their product need not be below 2^127.
  constexpr WideInteger kMost = static_cast<WideInteger>(1) << 62;
  const auto small = [](const IntegerRange& range) {
    return range.low >= -kMost && range.high <= kMost;
  };
  const IntegerRange wide{-4 * kMost, 4 * kMost};
  if (!wide.contains(a) || !wide.contains(b) || (!small(a) && !small(b))) return std::nullopt;
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return bounded({low, high});
}

IntegerRange hull(const IntegerRange& a, const IntegerRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace

std::optional<core::DataType> IntegerRanges::type_of(const Atom& atom) const {
  if (atom.kind != AtomKind::kRead || atom.tensor >= types_.size()) return std::nullopt;
  return types_[atom.tensor];
}

bool IntegerRanges::is_integral(const NormalForm& form) const {
  return std::all_of(form.begin(), form.end(),
                     [&](const Summand& summand) { return is_integral(summand); });
}

bool IntegerRanges::is_integral(const Summand& summand) const {
  if (!summand.coefficient.is_integer()) return false;
  return std::all_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
    if (!factor.exponent.is_integer() || factor.exponent.sign() < 0) return false;
    const Atom& atom = *factor.atom;
    switch (atom.kind) {
    case AtomKind::kRead:
      return type_of(atom) && !core::is_floating(*type_of(atom));
    case AtomKind::kNumber:
      return atom.number.is_integer();
    case AtomKind::kIndex:
    case AtomKind::kWrapped:
      return true;
    case AtomKind::kApply:
      return ops::properties(atom.function).integral ||
             ((atom.function == Function::kRelu || atom.function == Function::kAbs) &&
              is_integral(atom.arguments[0]->summands));
    case AtomKind::kMax:
      return std::all_of(atom.pieces.begin(), atom.pieces.end(),
                         [&](const Piece& piece) { return is_integral(piece.body->summands); });
    case AtomKind::kReciprocal:
    case AtomKind::kRounded:
      return false;
    }
    return false;
  });
}

std::optional<IntegerRange> IntegerRanges::range_of(const Atom& atom) const {
  switch (atom.kind) {
  case AtomKind::kRead:
    if (const auto type = type_of(atom)) return verifier::range_of(*type);
    return std::nullopt;
  case AtomKind::kNumber:
    if (!atom.number.is_integer()) return std::nullopt;
    return IntegerRange{atom.number.numerator(), atom.number.numerator()};
  case AtomKind::kWrapped:
    return verifier::range_of(type_of_wrap(atom));
  case AtomKind::kApply: {
    if (ops::properties(atom.function).integral && ops::properties(atom.function).non_negative)
      return IntegerRange{0, 1};
    if (atom.function != Function::kRelu && atom.function != Function::kAbs) return std::nullopt;
    const auto inside = range_of(atom.arguments[0]->summands);
    if (!inside) return std::nullopt;
    const WideInteger low = std::max<WideInteger>(inside->low, 0);
    const WideInteger most = std::max(inside->high, low);
    if (atom.function == Function::kRelu) return IntegerRange{low, most};
    return IntegerRange{0, std::max(most, -inside->low)};
  }
  case AtomKind::kMax: {
    std::optional<IntegerRange> all;
    for (const Piece& piece : atom.pieces) {
      const auto own = range_of(piece.body->summands);
      if (!own) return std::nullopt;
      all = all ? hull(*all, *own) : *own;
    }
    return all;
  }
  case AtomKind::kIndex:
  case AtomKind::kReciprocal:
  case AtomKind::kRounded:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<IntegerRange> IntegerRanges::range_of(const NormalForm& form) const {
  IntegerRange sum;
  for (const Summand& summand : form) {
    if (!summand.binders.empty() || !summand.coefficient.is_integer()) return std::nullopt;
    const std::int64_t scale = summand.coefficient.numerator();
    std::optional<IntegerRange> product = IntegerRange{scale, scale};
    for (const Factor& factor : summand.factors) {
      const auto own = range_of(*factor.atom);
      if (!own || !factor.exponent.is_integer() || factor.exponent.sign() < 0 ||
          factor.exponent > Fraction(kLargestBoundedPower)) {
        return std::nullopt;
      }
      for (auto k = factor.exponent.numerator(); k > 0 && product; --k) {
        product = product_of(*product, *own);
      }
      if (!product) return std::nullopt;
    }
    if (!summand.guards.empty()) product = hull(*product, {0, 0});
    const auto next = bounded({sum.low + product->low, sum.high + product->high});
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

/// The position along a dimension is a number of every integer type that can count it.
bool IntegerRanges::fits(const NormalForm& form, core::DataType type) const {
  const auto integer = as_integer(form);
  if (integer && integer->as_symbol() && bits_of(type) >= 32) return true;
  const auto range = range_of(form);
  const auto all = verifier::range_of(type);
  return range && all && all->contains(*range);
}

}  // namespace soapstone::verifier
