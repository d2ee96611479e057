// Signs of forms: what is certainly never negative, or positive, whatever the values of the inputs.
#include <algorithm>
#include <numeric>
#include <utility>

#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

namespace soapstone::verifier {
namespace {

bool is_bound(const Atom& atom, Symbol symbol) {
  return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
}

/// x ≥ 0 → f(x) ≥ 0 and x ≤ 0 → f(x) ≤ 0
bool keeps_sign(const Atom& atom) {
  const ops::FunctionProperties& law = ops::properties(atom.function);
  return law.arity == 1 && law.monotone && law.zero_preserving;
}

}  // namespace

/// Σ over i, k of [g(i)]·a(i)·[h(k)]·b(k)·c is (Σ [g]·a)·(Σ [h]·b)·c: the parts that share no
/// binder, each factor without one alone. Guards without binders, and the coefficient, are left
/// out.
std::vector<Summand> Normalizer::components(const Summand& summand) {
  const std::size_t count = summand.binders.size();
  std::vector<std::size_t> group(count);
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto members = [&](auto mentions) {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < count; ++k) {
      if (mentions(summand.binders[k])) found.push_back(k);
    }
    return found;
  };
  const auto join = [&](const std::vector<std::size_t>& found) {
    for (std::size_t k = 1; k < found.size(); ++k) {
      const std::size_t from = group[found[k]];
      for (std::size_t& each : group) {
        if (each == from) each = group[found[0]];
      }
    }
  };
  const auto of_fact = [&](const Fact& fact) {
    return members([&](Symbol symbol) { return fact.expression.mentions(symbol); });
  };
  const auto of_atom = [&](const Atom& atom) {
    return members([&](Symbol symbol) { return is_bound(atom, symbol); });
  };
  for (const Fact& fact : summand.guards) join(of_fact(fact));
  for (const Factor& factor : summand.factors) join(of_atom(*factor.atom));
  std::vector<Summand> parts(count);
  std::vector<Summand> result;
  for (std::size_t k = 0; k < count; ++k) parts[group[k]].binders.push_back(summand.binders[k]);
  for (const Fact& fact : summand.guards) {
    if (const auto found = of_fact(fact); !found.empty())
      insert(parts[group[found[0]]].guards, fact);
  }
  for (const Factor& factor : summand.factors) {
    const auto found = of_atom(*factor.atom);
    if (found.empty()) {
      result.push_back({1, {}, {}, {factor}});
    } else {
      parts[group[found[0]]].factors.push_back(factor);
    }
  }
  std::erase_if(parts, [](const Summand& part) { return part.binders.empty(); });
  for (Summand& part : parts) result.push_back(std::move(part));
  return result;
}

bool Normalizer::non_negative(const Factor& factor, const FactSet& context) {
  if (factor.exponent.is_even()) return true;
  const Atom& atom = *factor.atom;
  switch (atom.kind) {
  case AtomKind::kRead: {
    const auto range = range_of(atom);
    return is_non_negative_read(atom) || (range && range->low >= 0);
  }
  case AtomKind::kNumber:
    return true;
  case AtomKind::kIndex:
    return oracle_.implied(context, at_least(atom.index[0], 0));
  case AtomKind::kApply: {
    const ops::FunctionProperties& law = ops::properties(atom.function);
    return law.non_negative ||
           (keeps_sign(atom) && non_negative(atom.arguments[0]->summands, context));
  }
  case AtomKind::kReciprocal:
  case AtomKind::kRounded:
    return non_negative(atom.arguments[0]->summands, context);
  case AtomKind::kWrapped:
    return false;
  case AtomKind::kMax:
    return std::all_of(atom.pieces.begin(), atom.pieces.end(), [&](const Piece& piece) {
      return non_negative(piece.body->summands, unite(context, piece.guards));
    });
  }
  return false;
}

/// Equal values whose signs are not known cancel in pairs: x·x, x·tanh(x), and the product of a sum
/// with itself are never negative.
std::optional<Normalizer::Sign> Normalizer::sign_of(const Summand& summand,
                                                    const FactSet& context) {
  Sign result{summand.coefficient.sign(), {}};
  const auto toggle = [&](const Form* value) {
    const auto known = std::find(result.open.begin(), result.open.end(), value);
    if (known == result.open.end()) {
      result.open.push_back(value);
    } else {
      result.open.erase(known);
    }
  };
  const FactSet inside = unite(context, summand.guards);
  for (const Summand& part : components(summand)) {
    const bool never_negative =
        std::all_of(part.factors.begin(), part.factors.end(),
                    [&](const Factor& factor) { return non_negative(factor, inside); });
    if (never_negative) continue;
    if (!part.binders.empty()) {
      toggle(arena_.form({part}));
      continue;
    }
    const Factor& factor = part.factors[0];
    if (!factor.exponent.is_integer()) return std::nullopt;
    const Atom& atom = *factor.atom;
    const NormalForm* inner =
        atom.kind == AtomKind::kApply && keeps_sign(atom) ? &atom.arguments[0]->summands : nullptr;
    if (inner != nullptr && inner->size() == 1 && inner->front().guards.empty()) {
      const auto sign = sign_of(inner->front(), inside);
      if (!sign) return std::nullopt;
      result.known *= sign->known;
      for (const Form* value : sign->open) toggle(value);
    } else {
      toggle(arena_.form({Summand{1, {}, {}, {{&atom, 1}}}}));
    }
  }
  return result;
}

bool Normalizer::non_negative(const NormalForm& form, const FactSet& context) {
  return std::all_of(form.begin(), form.end(), [&](const Summand& summand) {
    const FactSet inside = unite(context, summand.guards);
    const bool plainly =
        std::all_of(summand.factors.begin(), summand.factors.end(),
                    [&](const Factor& factor) { return non_negative(factor, inside); });
    if (plainly) return summand.coefficient.sign() > 0;
    const auto sign = sign_of(summand, context);
    return sign && sign->known > 0 && sign->open.empty();
  });
}

/// The guards certainly hold for some values of the binders: near 0; or, for one binder after the
/// other, wherever each of its lower bounds is below each of its upper ones. That is exact for
/// bounds with coefficient 1.
bool Normalizer::is_over_something(const Summand& sum, const FactSet& context) {
  constexpr std::int64_t kPlaces = 4;
  for (std::int64_t place = 0; place < kPlaces; ++place) {
    Substitution values;
    for (Symbol binder : sum.binders) values.emplace_back(binder, Linear(place));
    const bool holds = std::all_of(sum.guards.begin(), sum.guards.end(), [&](const Fact& fact) {
      return oracle_.implied(context, fact.substitute(values));
    });
    if (holds) return true;
  }
  OpenPiece piece{sum.binders, sum.guards, {}};
  if (!project_unused(piece, context)) return false;
  return std::all_of(piece.guards.begin(), piece.guards.end(),
                     [&](const Fact& fact) { return oracle_.implied(context, fact); });
}

/// Certainly greater than 0: a product of such factors, or a sum of them over something.
bool Normalizer::is_positive(const Summand& summand, const FactSet& context) {
  if (summand.coefficient.sign() <= 0) return false;
  const FactSet inside = unite(context, summand.guards);
  return is_over_something(summand, context) &&
         std::all_of(summand.factors.begin(), summand.factors.end(), [&](const Factor& factor) {
           const Atom& atom = *factor.atom;
           switch (atom.kind) {
           case AtomKind::kNumber:
             return true;
           case AtomKind::kIndex:
             return oracle_.implied(inside, at_least(atom.index[0], 1));
           case AtomKind::kApply:
             return ops::properties(atom.function).positive;
           case AtomKind::kReciprocal:
             return non_negative(atom.arguments[0]->summands, inside);
           case AtomKind::kRead:
           case AtomKind::kRounded:
           case AtomKind::kWrapped:
           case AtomKind::kMax:
             return false;
           }
           return false;
         });
}

/// f(r·x) = r·f(x) for r ≥ 0 and such functions: relu and |x|. Taken out are sums of their own that
/// are never negative; and where all summands share x, what is left if it has one sign.
std::optional<NormalForm> Normalizer::homogeneous(ops::Function function, const NormalForm& form,
                                                  const FactSet& context) {
  if (form.size() == 1) {
    Summand outside;
    Summand inside{form[0].coefficient, {}, {}, {}};
    const auto multiply = [](Summand& product, const Summand& part) {
      product.guards = unite(product.guards, part.guards);
      product.binders.insert(product.binders.end(), part.binders.begin(), part.binders.end());
      product.factors.insert(product.factors.end(), part.factors.begin(), part.factors.end());
    };
    for (const Fact& fact : form[0].guards) {
      if (!fact.mentions_any(form[0].binders)) insert(inside.guards, fact);
    }
    for (const Summand& part : components(form[0])) {
      multiply(non_negative(NormalForm{part}, context) ? outside : inside, part);
    }
    if (!outside.factors.empty() || !outside.binders.empty()) {
      for (Summand* summand : {&outside, &inside})
        summand->factors = Arena::product(summand->factors);
      return product({outside}, apply_to_whole(function, {{inside}}, context), context);
    }
  }
  NormalForm rest = form;
  Summand common;
  common.factors =
      take_common(rest, [](const Factor& factor) { return factor.exponent.is_integer(); });
  if (common.factors.empty() || (rest.size() == 1 && rest[0].factors.empty())) return std::nullopt;
  const int sign = non_negative(rest, context) ? 1 : non_negative(negated(rest), context) ? -1 : 0;
  if (sign == 0) return std::nullopt;
  return product(scaled(std::move(rest), sign),
                 apply_to_whole(function, {scaled({common}, sign)}, context), context);
}

}  // namespace soapstone::verifier
