// Integers of some bits. The results of sums and products are put into an atom wrap(F): the integer
// that is congruent to F modulo 2^n and fits. Within sums and products of at least as many bits the
// atom is F again, as Z → Z/2^n is a homomorphism of rings; to order, maxima, casts and all other
// functions it is opaque. What certainly fits needs no atom.
#include <algorithm>
#include <utility>

#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

constexpr int kLargestIntegerPower = 4;

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

/// The representative of least magnitude modulo 2^bits.
std::int64_t centered(WideInteger value, int bits) {
  const WideInteger modulus = static_cast<WideInteger>(1) << bits;
  WideInteger rest = value % modulus;
  if (rest >= modulus / 2) rest -= modulus;
  if (rest < -modulus / 2) rest += modulus;
  return static_cast<std::int64_t>(rest);
}

}  // namespace

std::optional<IntegerRange> Normalizer::range_of(const Atom& atom) const {
  switch (atom.kind) {
  case AtomKind::kRead:
    return atom.tensor < types_.size() ? verifier::range_of(types_[atom.tensor]) : std::nullopt;
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

/// Bounds that hold whatever the inputs are. None: not known, or no integer.
std::optional<IntegerRange> Normalizer::range_of(const NormalForm& form) const {
  IntegerRange sum;
  for (const Summand& summand : form) {
    if (!summand.binders.empty() || !summand.coefficient.is_integer()) return std::nullopt;
    const std::int64_t scale = summand.coefficient.numerator();
    std::optional<IntegerRange> product = IntegerRange{scale, scale};
    for (const Factor& factor : summand.factors) {
      const auto own = range_of(*factor.atom);
      if (!own || !factor.exponent.is_integer() || factor.exponent.sign() < 0 ||
          factor.exponent > Fraction(kLargestIntegerPower)) {
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
bool Normalizer::fits(const NormalForm& form, core::DataType type) const {
  const auto integer = as_integer(form);
  if (integer && integer->as_symbol() && bits_of(type) >= 32) return true;
  const auto range = range_of(form);
  const auto all = verifier::range_of(type);
  return range && all && all->contains(*range);
}

/// wrap(F) is F in a product with integers, and coefficients are only told apart modulo 2^bits.
NormalForm Normalizer::modulo(NormalForm form, core::DataType type, const FactSet& context) {
  const int bits = bits_of(type);
  const auto is_transparent = [&](const Factor& factor) {
    return factor.atom->kind == AtomKind::kWrapped && is_wrap(*factor.atom) &&
           bits_of(type_of_wrap(*factor.atom)) >= bits &&
           factor.exponent <= Fraction(kLargestIntegerPower);
  };
  for (bool again = true; again;) {
    again = false;
    NormalForm result;
    for (Summand& summand : form) {
      budget_.spend();
      if (!is_integral(summand)) {
        result.push_back(std::move(summand));
        continue;
      }
      const auto found = std::ranges::find_if(summand.factors, is_transparent);
      if (found == summand.factors.end()) {
        if (auto part = reduced(std::move(summand), bits)) result.push_back(*std::move(part));
        continue;
      }
      again = true;
      const Factor wrap = *found;
      summand.factors.erase(found);
      NormalForm product{std::move(summand)};
      for (auto k = wrap.exponent.numerator(); k > 0; --k) {
        product = this->product(product, arena_.open(wrap.atom->arguments[0]), context);
      }
      for (Summand& part : product) result.push_back(std::move(part));
    }
    form = collected(std::move(result));
  }
  return form;
}

/// None: the coefficient is a multiple of 2^bits.
std::optional<Summand> Normalizer::reduced(Summand summand, int bits) {
  const auto is_long = [&](const Factor& factor) {
    return bits < 64 && factor.atom->kind == AtomKind::kNumber && factor.exponent == Fraction(1);
  };
  WideInteger coefficient = centered(summand.coefficient.numerator(), bits);
  for (const Factor& factor : summand.factors) {
    if (is_long(factor))
      coefficient = centered(coefficient * centered(factor.atom->number.numerator(), bits), bits);
  }
  std::erase_if(summand.factors, is_long);
  if (coefficient == 0) return std::nullopt;
  summand.coefficient = static_cast<std::int64_t>(coefficient);
  return summand;
}

NormalForm Normalizer::wrapped(const NormalForm& form, core::DataType type,
                               const FactSet& context) {
  return by_cases({form}, context, [this, type](const auto& forms, const FactSet& inside) {
    NormalForm whole = modulo(collected(under(forms[0], inside)), type, inside);
    if (fits(whole, type)) return whole;
    return summand_of(
        arena_.wrapped(arena_.form(std::move(whole)), static_cast<std::uint32_t>(type)));
  });
}

/// What lies outside of the type becomes a number that depends on the machine. So this is a
/// function of its own, that is the identity on what fits.
NormalForm Normalizer::truncated(const NormalForm& form, core::DataType type,
                                 const FactSet& context) {
  const NormalForm integer = apply(Function::kTruncate, {form}, context);
  return by_cases({integer}, context, [this, type](const auto& forms, const FactSet& inside) {
    NormalForm whole = collected(under(forms[0], inside));
    if (is_integral(whole) && fits(whole, type)) return whole;
    const auto format = static_cast<std::uint32_t>(type) | kUndefinedOutside;
    return summand_of(arena_.wrapped(arena_.form(std::move(whole)), format));
  });
}

}  // namespace soapstone::verifier
