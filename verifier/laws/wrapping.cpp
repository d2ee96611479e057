// See wrapping.h.
#include "verifier/laws/wrapping.h"

#include <algorithm>
#include <utility>

#include "verifier/forms/common_factors.h"

namespace soapstone::verifier {
namespace {

constexpr int kLargestIntegerPower = 4;

/// The representative of least magnitude modulo 2^bits.
std::int64_t centered(WideInteger value, int bits) {
  const WideInteger modulus = static_cast<WideInteger>(1) << bits;
  WideInteger rest = value % modulus;
  if (rest >= modulus / 2) rest -= modulus;
  if (rest < -modulus / 2) rest += modulus;
  return static_cast<std::int64_t>(rest);
}

/// None: the coefficient is a multiple of 2^bits.
std::optional<Summand> reduced(Summand summand, int bits) {
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

}  // namespace

/// Adds the summand to the result, without the first wrap(F) in it. False: there was none.
bool Wrapping::unwrap(Summand summand, int bits, const FactSet& context, NormalForm& result) {
  const auto is_transparent = [&](const Factor& factor) {
    return factor.atom->kind == AtomKind::kWrapped && is_wrap(*factor.atom) &&
           bits_of(type_of_wrap(*factor.atom)) >= bits &&
           factor.exponent <= Fraction(kLargestIntegerPower);
  };
  proof_.spend();
  if (!ranges_.is_integral(summand)) {
    result.push_back(std::move(summand));
    return false;
  }
  const auto found = std::ranges::find_if(summand.factors, is_transparent);
  if (found == summand.factors.end()) {
    if (auto part = reduced(std::move(summand), bits)) result.push_back(*std::move(part));
    return false;
  }
  const Factor wrap = *found;
  summand.factors.erase(found);
  NormalForm product{std::move(summand)};
  for (auto k = wrap.exponent.numerator(); k > 0; --k) {
    product = simplifier_.product(product, proof_.arena.open(wrap.atom->arguments[0]), context);
  }
  for (Summand& part : product) result.push_back(std::move(part));
  return true;
}

NormalForm Wrapping::modulo(NormalForm form, core::DataType type, const FactSet& context) {
  for (bool again = true; again;) {
    again = false;
    NormalForm result;
    for (Summand& summand : form) {
      again |= unwrap(std::move(summand), bits_of(type), context, result);
    }
    form = collected(std::move(result));
  }
  return form;
}

NormalForm Wrapping::wrapped(const NormalForm& form, core::DataType type, const FactSet& context) {
  return cases_.split({form}, context, [this, type](const auto& forms, const FactSet& inside) {
    NormalForm whole = modulo(collected(cases_.under(forms[0], inside)), type, inside);
    if (ranges_.fits(whole, type)) return whole;
    return summand_of(proof_.arena.wrapped(proof_.arena.form(std::move(whole)),
                                           static_cast<std::uint32_t>(type)));
  });
}

/// Numbers outside of the type become others that depend on the machine. So truncation is a
/// function of its own, that is the identity on what fits.
NormalForm Wrapping::truncated(const NormalForm& form, core::DataType type,
                               const FactSet& context) {
  const NormalForm integer = functions_.apply(ops::Function::kTruncate, {form}, context);
  return cases_.split({integer}, context, [this, type](const auto& forms, const FactSet& inside) {
    NormalForm whole = collected(cases_.under(forms[0], inside));
    if (ranges_.is_integral(whole) && ranges_.fits(whole, type)) return whole;
    const auto format = static_cast<std::uint32_t>(type) | kUndefinedOutside;
    return summand_of(proof_.arena.wrapped(proof_.arena.form(std::move(whole)), format));
  });
}

}  // namespace soapstone::verifier
