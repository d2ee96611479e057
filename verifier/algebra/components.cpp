// See signs.h: binders that share no guard and no factor are summed over independently.
#include "verifier/algebra/signs.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soapstone::verifier {
namespace {

bool is_bound(const Atom& atom, Symbol symbol) {
  return std::binary_search(atom.free_symbols.begin(), atom.free_symbols.end(), symbol);
}

}  // namespace

std::vector<Summand> components(const Summand& summand) {
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

}  // namespace soapstone::verifier
