// See selectors.h. A selector is the factor [p = v] of a sum over exactly 0 ≤ v < n.
#include "verifier/algebra/selectors.h"

#include <algorithm>

#include "verifier/forms/small_forms.h"

namespace soapstone::verifier {
namespace {

bool is_selection(const Factor& factor, const Form* place, Symbol binder) {
  const Atom& atom = *factor.atom;
  return atom.kind == AtomKind::kApply && atom.function == ops::Function::kEqual &&
         atom.arguments[0] == place && as_integer(atom.arguments[1]->summands) == Linear(binder);
}

}  // namespace

void Selectors::add(const NormalForm& place, const Linear& size, const FactSet& context) {
  cases_.split({place}, context, [&](const auto& forms, const FactSet&) {
    const std::pair entry(proof_.arena.form(collected(forms[0])), size);
    if (std::find(places_.begin(), places_.end(), entry) == places_.end()) {
      places_.push_back(entry);
    }
    return NormalForm{};
  });
}

/// The place p if the summand is Σ over 0 ≤ binder < n of [p = binder]·…, and p is known to be
/// there.
const Form* Selectors::selector_of(const Summand& summand, Symbol binder) const {
  const FactSet own = [&] {
    FactSet facts;
    for (const Fact& fact : summand.guards) {
      if (fact.expression.mentions(binder)) insert(facts, fact);
    }
    return facts;
  }();
  for (const Factor& factor : summand.factors) {
    const Atom& atom = *factor.atom;
    const bool selects = atom.kind == AtomKind::kApply && atom.function == ops::Function::kEqual &&
                         factor.exponent == Fraction(1) &&
                         as_integer(atom.arguments[1]->summands) == Linear(binder);
    if (!selects) continue;
    for (const auto& [place, size] : places_) {
      FactSet range;
      insert(range, at_least(binder, 0));
      insert(range, less(binder, size));
      if (place == atom.arguments[0] && own == range) return place;
    }
  }
  return nullptr;
}

std::optional<Symbol> Selectors::selected_binder(const Summand& summand, const Form* place) const {
  for (Symbol binder : summand.binders) {
    const Form* own = selector_of(summand, binder);
    if (own != nullptr && (place == nullptr || own == place)) return binder;
  }
  return std::nullopt;
}

std::optional<SelectedSum> Selectors::first_selection(const std::vector<NormalForm>& forms,
                                                      const Form*& place) const {
  for (const NormalForm& form : forms) {
    for (const Summand& summand : form) {
      const auto binder = selected_binder(summand, nullptr);
      if (!binder) continue;
      place = selector_of(summand, *binder);
      SelectedSum found;
      found.binder = *binder;
      for (const Fact& fact : summand.guards) {
        if (fact.expression.mentions(*binder)) insert(found.range, fact);
      }
      for (const Factor& factor : summand.factors) {
        if (is_selection(factor, place, *binder)) found.selector = factor;
      }
      return found;
    }
  }
  return std::nullopt;
}

/// The form that is added up over all v, without the factor [place = v]; v is called `binder`.
NormalForm Selectors::inside_of(const NormalForm& form, const Form* place, Symbol binder) const {
  NormalForm rest;
  for (Summand summand : form) {
    const auto own = selected_binder(summand, place);
    if (!own) {
      rest.push_back(std::move(summand));
      continue;
    }
    std::erase_if(summand.factors,
                  [&](const Factor& factor) { return is_selection(factor, place, *own); });
    std::erase_if(summand.guards, [&](const Fact& fact) { return fact.expression.mentions(*own); });
    std::erase(summand.binders, *own);
    for (Summand& part : proof_.arena.substitute(summand, {{*own, Linear(binder)}})) {
      rest.push_back(std::move(part));
    }
  }
  return collected(std::move(rest));
}

std::optional<SelectedSum> Selectors::selection_in(const std::vector<NormalForm>& forms) const {
  if (places_.empty()) return std::nullopt;
  const Form* place = nullptr;
  auto found = first_selection(forms, place);
  if (!found) return std::nullopt;
  for (const NormalForm& form : forms) {
    found->inside.push_back(inside_of(form, place, found->binder));
  }
  return found;
}

/// The binder occurs in the selector alone.
std::optional<Summand> Selectors::without_selector(const Summand& summand) const {
  if (places_.empty()) return std::nullopt;
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
