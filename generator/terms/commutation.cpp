// Compares terms operand by operand, either way around where the operator commutes.
#include "generator/terms/commutation.h"

namespace soapstone::generator {

bool same_up_to_commutation(const TermTable& terms, const NamedTerm& a, const NamedTerm& b) {
  if (a.term < terms.leaf_count() || b.term < terms.leaf_count())
    return a.term == b.term && (!terms.is_variable(a.term) || a.names == b.names);
  const Term &s = terms[a.term], &t = terms[b.term];
  if (s.application != t.application) return false;
  const Application& application = terms.applications()[s.application];
  const auto operand = [&](const NamedTerm& of, const Term& term, std::size_t k) {
    return NamedTerm{term.children[k], compose(term.renamings[k], terms[term.children[k]].variables,
                                               of.names, term.variables)};
  };
  const auto same = [&](std::size_t k, std::size_t l) {
    return same_up_to_commutation(terms, operand(a, s, k), operand(b, t, l));
  };
  bool straight = true;
  for (std::size_t k = 0; k < application.operands.size() && straight; ++k) straight = same(k, k);
  return straight || (application.commutative && same(0, 1) && same(1, 0));
}

}  // namespace soapstone::generator
