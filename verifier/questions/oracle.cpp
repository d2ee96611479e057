// Questions, their cache, and which facts can matter to one.
#include "verifier/questions/oracle.h"

#include <algorithm>

#include "core/base/hash.h"

namespace soapstone::verifier {

Oracle::Oracle(FactSet background, std::vector<Symbol> sizes, Solver& solver, Witness& witness,
               const Budget& budget)
    : background_(std::move(background)), sizes_(std::move(sizes)), solver_(solver),
      witness_(witness), budget_(budget) {
  std::sort(sizes_.begin(), sizes_.end());
}

/// The facts and all of the background that shares a symbol with them, directly or through others.
std::vector<Fact> Oracle::relevant(std::span<const Fact> facts) const {
  std::vector<Fact> result(facts.begin(), facts.end());
  std::vector<Symbol> symbols;
  for (const Fact& fact : facts) fact.expression.append_symbols(symbols);
  std::vector<bool> taken(background_.size());
  std::vector<bool> defined(definitions_.size());
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t k = 0; k < background_.size(); ++k) {
      if (taken[k] || !background_[k].mentions_any(symbols)) continue;
      taken[k] = grown = true;
      result.push_back(background_[k]);
      background_[k].expression.append_symbols(symbols);
    }
    // A definition says something of its own symbols only.
    for (std::size_t k = 0; k < definitions_.size(); ++k) {
      const bool mentioned = std::any_of(
          definitions_[k].symbols.begin(), definitions_[k].symbols.end(), [&](Symbol own) {
            return std::find(symbols.begin(), symbols.end(), own) != symbols.end();
          });
      if (defined[k] || !mentioned) continue;
      defined[k] = grown = true;
      for (const Fact& fact : definitions_[k].facts) {
        result.push_back(fact);
        fact.expression.append_symbols(symbols);
      }
    }
  }
  multiply_by_sizes(result, {});
  return result;
}

/// All products of some of the sizes in the monomial.
void Oracle::append_size_products(const Monomial& monomial, std::vector<Monomial>& out) const {
  std::vector<Monomial> products{{}};
  for (std::size_t k = 0; k < monomial.degree(); ++k) {
    const Symbol symbol = monomial.symbol(k);
    if (!std::binary_search(sizes_.begin(), sizes_.end(), symbol)) continue;
    const std::size_t count = products.size();
    for (std::size_t j = 0; j < count; ++j) products.push_back(products[j] * Monomial(symbol));
  }
  out.insert(out.end(), products.begin() + 1, products.end());
}

/// n ≥ 1 and e ≥ 0 give n·e ≥ 0: all that is known of products of sizes and indices.
/// Only products that occur in the facts or in `mentioned` are worth it.
void Oracle::multiply_by_sizes(std::vector<Fact>& facts, std::span<const Fact> mentioned) const {
  std::vector<Monomial> products;
  const auto collect = [&](const Fact& fact) {
    for (const Linear::Part& part : fact.expression.parts()) {
      if (part.monomial.degree() >= 2) products.push_back(part.monomial);
    }
  };
  std::for_each(facts.begin(), facts.end(), collect);
  std::for_each(mentioned.begin(), mentioned.end(), collect);
  if (products.empty()) return;
  const auto unique = [](std::vector<Monomial>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(products);
  std::vector<Monomial> factors;
  for (const Monomial& product : products) append_size_products(product, factors);
  unique(factors);
  const auto is_known = [&](const Monomial& monomial, const Monomial& factor) {
    if (monomial.degree() + factor.degree() > Monomial::kMaxDegree) return false;
    const Monomial product = monomial * factor;
    return product.degree() < 2 || std::binary_search(products.begin(), products.end(), product) ||
           std::binary_search(factors.begin(), factors.end(), product);
  };
  const std::size_t count = facts.size();
  for (std::size_t k = 0; k < count; ++k) {
    const std::span<const Linear::Part> parts = facts[k].expression.parts();
    if (parts.size() > kMaxMultiplied) continue;
    for (const Monomial& factor : factors) {
      const bool worth = std::all_of(parts.begin(), parts.end(), [&](const Linear::Part& part) {
        return is_known(part.monomial, factor);
      });
      const bool constant_known = facts[k].expression.constant() == 0 || is_known({}, factor);
      if (!worth || !constant_known) continue;
      const Linear product = facts[k].expression * Linear::product(factor, 1);
      facts.push_back(facts[k].kind == Fact::Kind::kZero ? equal(product, 0)
                                                         : at_least(product, 0));
    }
  }
}

std::size_t Oracle::HashOfFacts::operator()(const FactSet& facts) const {
  std::uint64_t key = 0;
  for (const Fact& fact : facts) key = core::hash_combine(key, fact.hash());
  return key;
}

bool Oracle::possible(std::span<const Fact> facts) {
  FactSet set;
  for (const Fact& fact : facts) {
    const auto truth = fact.truth();
    if (truth == false) return false;
    if (!truth) insert(set, fact);
  }
  const auto [asked, is_new] = answers_.try_emplace(std::move(set), true);
  if (!is_new) return asked->second;
  budget_.go_on();
  ++questions_;
  asked->second = !witness_.is_impossible(relevant(asked->first));
  if (!asked->second) impossible_.push_back(&asked->first);
  return asked->second;
}

bool Oracle::possible_alone(std::span<const Fact> facts) {
  std::vector<Fact> all(facts.begin(), facts.end());
  if (!witness_.is_impossible(all)) return true;
  refuted_.push_back(std::move(all));
  return false;
}

bool Oracle::contradictory(std::span<const Fact> facts) {
  std::vector<Fact> used;
  if (!witness_.is_contradiction(facts, used)) return false;
  refuted_.push_back(std::move(used));
  return true;
}

bool Oracle::implied(const FactSet& facts, const Fact& conclusion) {
  if (const auto truth = conclusion.truth()) return *truth;
  if (contains(facts, conclusion) || contains(background_, conclusion)) return true;
  for (const Fact& opposite : conclusion.negation()) {
    std::vector<Fact> with(facts.begin(), facts.end());
    with.push_back(opposite);
    if (possible(with)) return false;
  }
  return true;
}

std::vector<Fact> Oracle::assumptions(const FactSet& facts,
                                      std::span<const FactSet> mentioned) const {
  std::vector<Fact> assumed(facts.begin(), facts.end());
  assumed.insert(assumed.end(), background_.begin(), background_.end());
  for (const Definition& definition : definitions_) {
    assumed.insert(assumed.end(), definition.facts.begin(), definition.facts.end());
  }
  std::vector<Fact> others;
  for (const FactSet& set : mentioned) others.insert(others.end(), set.begin(), set.end());
  multiply_by_sizes(assumed, others);
  return assumed;
}

bool Oracle::impossible(const FactSet& facts, const FactSet& guards) {
  return !possible(unite(facts, guards));
}

bool Oracle::zero(const FactSet& facts, std::span<const WeightedGuards> sum) {
  // Weights of one sign do not cancel.
  const auto positive = std::count_if(sum.begin(), sum.end(),
                                      [](const WeightedGuards& part) { return part.weight > 0; });
  if (positive == 0 || positive == std::ssize(sum)) {
    return std::all_of(sum.begin(), sum.end(),
                       [&](const WeightedGuards& part) { return impossible(facts, part.guards); });
  }
  std::vector<FactSet> guards;
  for (const WeightedGuards& part : sum) guards.push_back(part.guards);
  return solver_.proves_zero(assumptions(facts, guards), sum);
}

bool Oracle::same_union(const FactSet& facts, std::span<const FactSet> a,
                        std::span<const FactSet> b) {
  std::vector<FactSet> guards(a.begin(), a.end());
  guards.insert(guards.end(), b.begin(), b.end());
  return solver_.proves_same_union(assumptions(facts, guards), a, b);
}

bool Oracle::confirm_all() {
  const auto confirms = [&](const std::vector<Fact>& facts) {
    budget_.go_on();
    return solver_.proves_impossible(facts);
  };
  return std::all_of(impossible_.begin(), impossible_.end(),
                     [&](const FactSet* facts) { return confirms(relevant(*facts)); }) &&
         std::all_of(refuted_.begin(), refuted_.end(), confirms);
}

}  // namespace soapstone::verifier
