// Elements that values of another tensor select: Σ over 0 ≤ v < n of [p = v]·x(v) for a place p of
// which an operator demands 0 ≤ p < n. Exactly one v is p, so functions go inside, and the sum over
// 1 alone is 1.
#include <algorithm>
#include <utility>

#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

namespace soapstone::verifier {

using ops::Function;

/// Of an element that an index selects is demanded what may be demanded of all.
bool Normalizer::demand_range(const NormalForm& value, const Linear& low, const Linear& high,
                              const FactSet& context, bool of_all) {
  if (domain_ == nullptr) return false;
  const auto selection = of_all ? selection_in({value}) : std::nullopt;
  if (selection) {
    demand_range(selection->inside[0], low, high, unite(context, selection->range), of_all);
    return true;
  }
  require(Demand::kNotNegative, sum_of(value, negated(arena_.value_of(low))), context);
  require(Demand::kNotNegative, sum_of(arena_.value_of(high - 1), negated(value)), context);
  return false;
}

void Normalizer::add_selector(const NormalForm& place, const Linear& size, const FactSet& context) {
  by_cases({place}, context, [&](const auto& forms, const FactSet&) {
    const std::pair entry(arena_.form(collected(forms[0])), size);
    if (std::find(selectors_.begin(), selectors_.end(), entry) == selectors_.end()) {
      selectors_.push_back(entry);
    }
    return NormalForm{};
  });
}

/// The place p if the summand is Σ over 0 ≤ binder < n of [p = binder]·…, and p is known to be
/// there.
const Form* Normalizer::selector_of(const Summand& summand, Symbol binder) const {
  const FactSet own = [&] {
    FactSet facts;
    for (const Fact& fact : summand.guards) {
      if (fact.expression.mentions(binder)) insert(facts, fact);
    }
    return facts;
  }();
  for (const Factor& factor : summand.factors) {
    const Atom& atom = *factor.atom;
    const bool selects = atom.kind == AtomKind::kApply && atom.function == Function::kEqual &&
                         factor.exponent == Fraction(1) &&
                         as_integer(atom.arguments[1]->summands) == Linear(binder);
    if (!selects) continue;
    for (const auto& [place, size] : selectors_) {
      FactSet range;
      insert(range, at_least(binder, 0));
      insert(range, less(binder, size));
      if (place == atom.arguments[0] && own == range) return place;
    }
  }
  return nullptr;
}

std::optional<Symbol> Normalizer::selected_binder(const Summand& summand, const Form* place) const {
  for (Symbol binder : summand.binders) {
    const Form* own = selector_of(summand, binder);
    if (own != nullptr && (place == nullptr || own == place)) return binder;
  }
  return std::nullopt;
}

/// Σ over v of [p = v]·x(v) + y = Σ over v of [p = v]·(x(v) + y)
std::optional<Normalizer::Selection>
Normalizer::selection_in(const std::vector<NormalForm>& arguments) {
  if (selectors_.empty()) return std::nullopt;
  Selection found;
  const Form* place = nullptr;
  for (const NormalForm& form : arguments) {
    for (const Summand& summand : form) {
      const auto binder = place == nullptr ? selected_binder(summand, nullptr) : std::nullopt;
      if (!binder) continue;
      place = selector_of(summand, *binder);
      found.binder = *binder;
      for (const Fact& fact : summand.guards) {
        if (fact.expression.mentions(*binder)) insert(found.range, fact);
      }
      for (const Factor& factor : summand.factors) {
        if (is_selection(factor, place, *binder)) found.selector = factor;
      }
    }
  }
  if (place == nullptr) return std::nullopt;
  for (const NormalForm& form : arguments) {
    NormalForm& rest = found.inside.emplace_back();
    for (Summand summand : form) {
      const auto binder = selected_binder(summand, place);
      if (!binder) {
        rest.push_back(std::move(summand));
        continue;
      }
      std::erase_if(summand.factors,
                    [&](const Factor& factor) { return is_selection(factor, place, *binder); });
      std::erase_if(summand.guards,
                    [&](const Fact& fact) { return fact.expression.mentions(*binder); });
      std::erase(summand.binders, *binder);
      for (Summand& part : arena_.substitute(summand, {{*binder, Linear(found.binder)}})) {
        rest.push_back(std::move(part));
      }
    }
    rest = collected(std::move(rest));
  }
  return found;
}

/// f(Σ over v of [p = v]·x(v)) = Σ over v of [p = v]·f(x(v))
std::optional<NormalForm> Normalizer::through_selector(Function function,
                                                       const std::vector<NormalForm>& arguments,
                                                       const FactSet& context) {
  const auto selection = selection_in(arguments);
  if (!selection) return std::nullopt;
  NormalForm result;
  for (Summand& summand : apply(function, selection->inside, unite(context, selection->range))) {
    summand.guards = unite(summand.guards, selection->range);
    summand.binders.push_back(selection->binder);
    summand.factors.push_back(selection->selector);
    summand.factors = Arena::product(std::move(summand.factors));
    // Terms of one sum share no binder.
    for (Summand& part : simplify(arena_.refreshed(summand), context))
      result.push_back(std::move(part));
  }
  return collected(std::move(result));
}

bool Normalizer::is_selection(const Factor& factor, const Form* place, Symbol binder) {
  const Atom& atom = *factor.atom;
  return atom.kind == AtomKind::kApply && atom.function == Function::kEqual &&
         atom.arguments[0] == place && as_integer(atom.arguments[1]->summands) == Linear(binder);
}

/// Σ over v of [p = v] = 1
std::optional<Summand> Normalizer::without_selector(const Summand& summand) const {
  for (Symbol binder : summand.binders) {
    const Form* place = selector_of(summand, binder);
    if (place == nullptr) continue;
    const auto mentions = [&](const Factor& factor) {
      return std::binary_search(factor.atom->free_symbols.begin(), factor.atom->free_symbols.end(),
                                binder);
    };
    if (std::count_if(summand.factors.begin(), summand.factors.end(), mentions) != 1) continue;
    Summand rest = summand;
    std::erase_if(rest.factors, mentions);
    std::erase_if(rest.guards, [&](const Fact& fact) { return fact.expression.mentions(binder); });
    std::erase(rest.binders, binder);
    return rest;
  }
  return std::nullopt;
}

}  // namespace soapstone::verifier
