// Cases may overlap at their borders: the form must be 0 in all of them. A case may give an atom a
// value, or an element of an input a sign: x is then a number t ≥ 0, or −t, and the laws of
// functions that ask for a sign apply.
#include "verifier/orders/order_cases.h"

#include <algorithm>
#include <optional>

#include "verifier/orders/atom_cases.h"
#include "verifier/orders/order_facts.h"
#include "verifier/orders/replacement.h"

namespace soapstone::verifier {
namespace {

constexpr int kMaxDepth = 7;

constexpr int kMaxSigns = 3;  ///< Elements split though no function asks for it.

/// The value of the element that the summand is where the form is 0; none: the summand is not an
/// element, or others depend on it.
std::optional<NormalForm> value_on_border(const NormalForm& form, const Summand& summand) {
  const bool alone = summand.binders.empty() && summand.guards.empty() &&
                     summand.factors.size() == 1 && summand.factors[0].exponent == Fraction(1) &&
                     summand.factors[0].atom->kind == AtomKind::kRead;
  if (!alone) return std::nullopt;
  const Atom& element = *summand.factors[0].atom;
  NormalForm rest = form;
  std::erase(rest, summand);
  const bool elsewhere = std::any_of(rest.begin(), rest.end(), [&](const Summand& other) {
    return std::any_of(other.factors.begin(), other.factors.end(), [&](const Factor& factor) {
      return Replacement::contains(*factor.atom, element);
    });
  });
  if (elsewhere) return std::nullopt;
  return scaled(std::move(rest), -summand.coefficient.inverse());
}

class Splitter {
 public:
  Splitter(Laws& laws, Equality& equality, const FactSet& context, bool thorough)
      : laws_(laws), equality_(equality), context_(context), facts_(laws, context),
        cases_(laws, context), replacement_(laws, context), thorough_(thorough) {}

  bool zero(const NormalForm& form, const std::vector<Condition>& conditions, int depth,
            int signs) {
    laws_.proof.spend();
    const Atom* atom = cases_.decidable(form);
    if (atom == nullptr) return zero_in_case(form, conditions, depth, signs);
    return depth < kMaxDepth && zero_in(cases_.cases_of(*atom), form, conditions, depth + 1, signs);
  }

  /// The signs of these elements are known: none is below 0.
  NormalForm with_signs(NormalForm form, const std::vector<const Atom*>& elements) {
    for (const Atom* element : elements)
      form = replacement_.replace(form, *element, laws_.signs.any_non_negative());
    return form;
  }

 private:
  bool zero_in_case(const NormalForm& form, const std::vector<Condition>& conditions, int depth,
                    int signs);
  bool zero_in(const std::vector<Case>& cases, const NormalForm& form,
               const std::vector<Condition>& conditions, int depth, int signs);
  bool vanishes(const NormalForm& form, const std::vector<Condition>& conditions);
  bool vanishes_thoroughly(const NormalForm& form, const std::vector<Condition>& conditions);
  bool vanishes_on_border(const NormalForm& form, const std::vector<Condition>& conditions);

  Laws& laws_;
  Equality& equality_;
  const FactSet& context_;
  OrderFacts facts_;
  AtomCases cases_;
  Replacement replacement_;
  bool thorough_;
};

/// Nothing is left to be decided by which value is the largest.
bool Splitter::zero_in_case(const NormalForm& form, const std::vector<Condition>& conditions,
                            int depth, int signs) {
  if (equality_.equal(form, {}, context_) || vanishes(form, conditions) ||
      vanishes_on_border(form, conditions)) {
    return true;
  }
  if (!thorough_) return false;
  if (vanishes_thoroughly(form, conditions)) return true;
  if (signs == kMaxSigns) return false;
  std::vector<const Atom*> elements;
  collect_elements(form, elements);
  for (const Condition& condition : conditions) {
    collect_elements(condition.form, elements);
  }
  return !elements.empty() &&
         zero_in(cases_.signs_of(*elements[0]), form, conditions, depth, signs + 1);
}

bool Splitter::zero_in(const std::vector<Case>& cases, const NormalForm& form,
                       const std::vector<Condition>& conditions, int depth, int signs) {
  return std::all_of(cases.begin(), cases.end(), [&](const Case& each) {
    std::vector<Condition> known = conditions;
    known.insert(known.end(), each.conditions.begin(), each.conditions.end());
    for (Condition& condition : known) {
      condition.form = replacement_.replace(condition.form, *each.atom, each.value);
    }
    return facts_.contradict(known) ||
           zero(replacement_.replace(form, *each.atom, each.value), known, depth, signs);
  });
}

/// Neither above 0 nor below.
bool Splitter::vanishes(const NormalForm& form, const std::vector<Condition>& conditions) {
  std::vector<Condition> above = conditions;
  std::vector<Condition> below = conditions;
  above.push_back({form, true});
  below.push_back({scaled(form, -1), true});
  return facts_.contradict(above) && facts_.contradict(below);
}

/// The conditions themselves may contradict each other, too.
bool Splitter::vanishes_thoroughly(const NormalForm& form,
                                   const std::vector<Condition>& conditions) {
  std::vector<Condition> above = conditions;
  above.push_back({form, true});
  if (!facts_.contradict_thoroughly(above)) return false;
  above.back() = {scaled(form, -1), true};
  return facts_.contradict_thoroughly(above);
}

/// Conditions that leave no room, such as x ≥ 3 and x ≤ 3, determine an element of an input.
bool Splitter::vanishes_on_border(const NormalForm& form,
                                  const std::vector<Condition>& conditions) {
  for (const Condition& border : conditions) {
    if (border.strict) continue;
    std::vector<Condition> inside = conditions;
    inside.push_back({border.form, true});
    if (!facts_.contradict(inside)) continue;
    for (const Summand& summand : border.form) {
      const std::optional<NormalForm> value = value_on_border(border.form, summand);
      if (!value) continue;
      const Atom& element = *summand.factors[0].atom;
      if (equality_.equal(replacement_.replace(form, element, *value), {}, context_)) return true;
    }
  }
  return false;
}

}  // namespace

bool zero_in_every_order(Laws& laws, Equality& equality, const NormalForm& form,
                         const FactSet& context, const std::vector<const Atom*>& non_negative,
                         bool thorough) {
  Splitter splitter(laws, equality, context, thorough);
  if (!thorough) return splitter.zero(form, {}, 0, 0);
  const NormalForm whole = splitter.with_signs(form, non_negative);
  return splitter.zero(whole, OrderFacts(laws, context).elements(whole), 0, 0);
}

}  // namespace soapstone::verifier
