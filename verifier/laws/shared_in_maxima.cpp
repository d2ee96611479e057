// See maxima.h: addends, factors, slopes and bounds that all pieces of a maximum share are pulled
// out.
#include "verifier/laws/maxima.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"
#include "verifier/laws/function_laws.h"

namespace soapstone::verifier {
namespace {

/// c·relu(x) − d·relu(−x) with c, d > 0: it never falls as x grows.
struct Slopes {
  Fraction above;      ///< c
  Fraction below;      ///< d
  const Form* inside;  ///< x
};

/// The x of a form c·relu(x) with c > 0; else null.
const Form* inside_relu(const NormalForm& form) {
  const Factor* const factor = only_factor(form, AtomKind::kApply);
  if (factor == nullptr || factor->atom->function != ops::Function::kRelu) return nullptr;
  return factor->atom->arguments[0];
}

std::optional<Slopes> slopes_of(Arena& arena, const NormalForm& body) {
  if (body.size() != 2) return std::nullopt;
  const std::size_t rising = body[0].coefficient.sign() > 0 ? 0 : 1;
  const NormalForm above{body[rising]};
  const NormalForm below = negated(NormalForm{body[1 - rising]});
  const Form* const inside = inside_relu(above);
  const Form* const opposite = inside_relu(below);
  if (inside == nullptr || opposite == nullptr) return std::nullopt;
  if (arena.form(negated(arena.open(inside))) != opposite) return std::nullopt;
  return Slopes{above[0].coefficient, below[0].coefficient, inside};
}

}  // namespace

/// max(f(a), f(b)) = f(max(a, b)) for f(x) = c·relu(x) − d·relu(−x) with c, d > 0.
Maxima::Result Maxima::pull_out_slopes(const Pieces& pieces, const FactSet& context) {
  std::optional<Slopes> all;
  Pieces inside = pieces;
  for (OpenPiece& piece : inside) {
    const std::optional<Slopes> own = slopes_of(proof_.arena, piece.body);
    if (!own || (all && (own->above != all->above || own->below != all->below)))
      return std::nullopt;
    all = own;
    piece.body = proof_.arena.open(own->inside);
  }
  if (!all) return std::nullopt;
  const NormalForm largest = maximum(std::move(inside), context);
  const NormalForm above = functions_.apply(ops::Function::kRelu, {largest}, context);
  const NormalForm below = functions_.apply(ops::Function::kRelu, {negated(largest)}, context);
  return sum_of(scaled(above, all->above), scaled(below, -all->below));
}

/// max(a + c, b + c) = max(a, b) + c for summands c that mention no binder of a piece.
Maxima::Result Maxima::pull_out_addends(Pieces& pieces, const FactSet& context) {
  if (pieces.size() == 1 && pieces[0].binders.empty()) return std::nullopt;
  // Sums of their own have canonical binders here, so that equal ones are one summand.
  std::vector<NormalForm> named;
  NormalForm common;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    NormalForm body;
    for (const Summand& summand : pieces[k].body)
      body.push_back(proof_.arena.form({summand})->summands[0]);
    named.push_back(collected(std::move(body)));
    NormalForm own;
    for (const Summand& summand : named[k]) {
      const std::vector<Symbol> symbols = Arena::free_symbols(summand);
      const bool bound =
          std::any_of(pieces[k].binders.begin(), pieces[k].binders.end(), [&](Symbol b) {
            return std::binary_search(symbols.begin(), symbols.end(), b);
          });
      if (!bound) own.push_back(summand);
    }
    if (k == 0) {
      common = std::move(own);
    } else {
      std::erase_if(common, [&](const Summand& summand) {
        return std::find(own.begin(), own.end(), summand) == own.end();
      });
    }
  }
  if (common.empty()) return std::nullopt;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    pieces[k].body.clear();
    for (const Summand& summand : named[k]) {
      const bool shared = std::find(common.begin(), common.end(), summand) != common.end();
      if (!shared) pieces[k].body.push_back(proof_.arena.refreshed(summand));
    }
  }
  NormalForm result = maximum(std::move(pieces), context);
  for (const Summand& summand : common) result.push_back(proof_.arena.refreshed(summand));
  return collected(std::move(result));
}

/// max(c·a, c·b) = c·max(a, b) for c > 0.
Maxima::Result Maxima::pull_out_scale(Pieces& pieces, const FactSet& context) {
  std::optional<Fraction> scale;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty()) continue;
    const Fraction own = leading_coefficient(proof_.arena, piece.body).magnitude();
    if (scale && *scale != own) return std::nullopt;
    scale = own;
  }
  if (!scale || *scale == Fraction(1)) return std::nullopt;
  for (OpenPiece& piece : pieces) piece.body = scaled(piece.body, scale->inverse());
  return scaled(maximum(std::move(pieces), context), *scale);
}

/// max(r·a, r·b) = r·max(a, b) for r that is never negative and mentions no binder.
Maxima::Result Maxima::pull_out_factors(Pieces& pieces, const FactSet& context) {
  NormalForm all;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty()) continue;
    for (Summand summand : piece.body) {
      summand.binders.insert(summand.binders.end(), piece.binders.begin(), piece.binders.end());
      all.push_back(std::move(summand));
    }
  }
  const bool is_one = pieces.size() == 1 && pieces[0].binders.empty();
  Summand outside;
  outside.factors = take_common(all, [&](const Factor& factor) {
    const bool is_exponential =
        factor.atom->kind == AtomKind::kApply && factor.atom->function == ops::Function::kExp;
    return (is_exponential || factor.exponent.sign() > 0) && signs_.non_negative(factor, context);
  });
  if (is_one || outside.factors.empty()) return std::nullopt;
  for (OpenPiece& piece : pieces) {
    for (Summand& summand : piece.body) {
      for (const Factor& factor : outside.factors) {
        summand.factors.push_back({factor.atom, -factor.exponent});
      }
      summand.factors = Arena::product(std::move(summand.factors));
    }
  }
  return simplifier_.product({outside}, maximum(std::move(pieces), context), context);
}

/// max(aᵖ, bᵖ) = max(a, b)ᵖ for a, b that are never negative and p > 1.
Maxima::Result Maxima::pull_out_power(Pieces& pieces, const FactSet& context) {
  if (pieces.size() == 1 && pieces[0].binders.empty()) return std::nullopt;
  std::int64_t power = 0;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty()) continue;
    const bool plain = piece.body.size() == 1 && piece.body[0].coefficient == Fraction(1) &&
                       piece.body[0].binders.empty() && piece.body[0].guards.empty();
    if (!plain) return std::nullopt;
    for (const Factor& factor : piece.body[0].factors) {
      if (!factor.exponent.is_integer()) return std::nullopt;
      power = std::gcd(power, factor.exponent.numerator());
    }
  }
  if (power < 2) return std::nullopt;
  std::vector<OpenPiece> bases = pieces;
  for (OpenPiece& piece : bases) {
    for (Summand& summand : piece.body) {
      for (Factor& factor : summand.factors) factor.exponent = factor.exponent * Fraction(1, power);
    }
    if (!signs_.non_negative(piece.body, unite(context, piece.guards))) return std::nullopt;
  }
  const NormalForm base = maximum(std::move(bases), context);
  NormalForm result{Summand{}};
  for (std::int64_t k = 0; k < power; ++k) result = simplifier_.product(result, base, context);
  return result;
}

/// max over k of min(a(k), b) = min(max over k of a(k), b); a minimum is −max of the negated.
Maxima::Result Maxima::pull_out_bound(const Pieces& pieces, const FactSet& context) {
  if (pieces.size() != 1 || pieces[0].binders.empty() || pieces[0].body.size() != 1) {
    return std::nullopt;
  }
  const Fraction scale = -pieces[0].body[0].coefficient;
  const NormalForm unit = scaled(pieces[0].body, -1);
  if (scale.sign() <= 0) return std::nullopt;
  std::vector<OpenPiece> inside;
  if (const Factor* minimum = only_factor(unit, AtomKind::kMax)) {
    inside = open_pieces(proof_.arena, *minimum->atom);
  } else if (const Factor* relu = only_factor(unit, AtomKind::kApply);
             relu != nullptr && relu->atom->function == ops::Function::kRelu) {
    inside = {{{}, {}, proof_.arena.open(relu->atom->arguments[0])}, {}};
  } else {
    return std::nullopt;
  }
  std::vector<OpenPiece> bounds;
  std::vector<OpenPiece> varying;
  for (OpenPiece& piece : inside) {
    if (!is_plain(piece)) return std::nullopt;
    const bool bound = std::none_of(pieces[0].binders.begin(), pieces[0].binders.end(),
                                    [&](Symbol binder) { return mentions(piece.body, binder); });
    (bound ? bounds : varying).push_back(std::move(piece));
  }
  if (bounds.empty() || varying.size() != 1) return std::nullopt;
  OpenPiece inner = pieces[0];
  inner.body = scaled(varying[0].body, -1);
  bounds.push_back({{}, {}, scaled(maximum({std::move(inner)}, context), -1)});
  return scaled(maximum(std::move(bounds), context), -scale);
}

/// max(exp(a), exp(b)) = exp(max(a, b)), and so for minima, which are −max of the negated.
Maxima::Result Maxima::pull_out_exponential(Pieces& pieces, const FactSet& context) {
  const int sign = pieces[0].body.empty() ? 0 : pieces[0].body[0].coefficient.sign();
  std::vector<NormalForm> exponents;
  for (const OpenPiece& piece : pieces) {
    if (piece.body.empty() || piece.body[0].factors.empty()) return std::nullopt;
    auto exponent = exponentials_.exponent_of(scaled(piece.body, sign));
    if (!exponent) return std::nullopt;
    exponents.push_back(scaled(*std::move(exponent), sign));
  }
  for (std::size_t k = 0; k < pieces.size(); ++k) pieces[k].body = std::move(exponents[k]);
  return scaled(exponentials_.exponential(scaled(maximum(std::move(pieces), context), sign)), sign);
}

}  // namespace soapstone::verifier
