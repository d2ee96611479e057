// See meeting.h.
#include "verifier/forms/meeting.h"

#include <algorithm>

namespace soapstone::verifier {

std::optional<Substitution> meeting(const Atom& varying, const Atom& fixed,
                                    const std::vector<Symbol>& binders) {
  if (varying.tensor != fixed.tensor || varying.index.size() != fixed.index.size()) {
    return std::nullopt;
  }
  Substitution solved;
  for (std::size_t d = 0; d < varying.index.size(); ++d) {
    const Linear gap = (varying.index[d] - fixed.index[d]).substitute(solved);
    const auto binder = std::find_if(binders.begin(), binders.end(), [&](Symbol symbol) {
      const std::int64_t factor = gap.coefficient(symbol);
      return gap.is_linear_in(symbol) && (factor == 1 || factor == -1);
    });
    if (binder == binders.end()) {
      if (!(gap == Linear(0))) return std::nullopt;
      continue;
    }
    const std::int64_t factor = gap.coefficient(*binder);
    const Linear value = (gap - Linear(*binder).scaled(factor)).scaled(-factor);
    for (auto& [symbol, old] : solved) old = old.substitute({{*binder, value}});
    solved.emplace_back(*binder, value);
  }
  if (solved.size() != binders.size()) return std::nullopt;
  return solved;
}

}  // namespace soapstone::verifier
