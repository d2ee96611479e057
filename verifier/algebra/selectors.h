// Elements that values of another tensor select: Σ over 0 ≤ v < n of [p = v]·x(v) = x(p) for a
// place p of which an operator demands 0 ≤ p < n. Exactly one v is p, so functions go inside, and
// the sum over 1 alone is 1.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "verifier/algebra/cases.h"

namespace soapstone::verifier {

/// Σ over the binder in its range of [place = binder]·inside(binder).
struct SelectedSum {
  Symbol binder;
  FactSet range;
  Factor selector;
  std::vector<NormalForm> inside;
};

class Selectors {
 public:
  Selectors(const ProofContext& proof, Cases& cases) : proof_(proof), cases_(cases) {}

  /// An operator demands 0 ≤ place < size.
  void add(const NormalForm& place, const Linear& size, const FactSet& context);
  /// Σ over v of [p = v]·x(v) + y = Σ over v of [p = v]·(x(v) + y), for all these forms at once.
  std::optional<SelectedSum> selection_in(const std::vector<NormalForm>& forms) const;
  /// Σ over v of [p = v] = 1
  std::optional<Summand> without_selector(const Summand& summand) const;

 private:
  const Form* selector_of(const Summand& summand, Symbol binder) const;
  std::optional<Symbol> selected_binder(const Summand& summand, const Form* place) const;
  std::optional<SelectedSum> first_selection(const std::vector<NormalForm>& forms,
                                             const Form*& place) const;
  NormalForm inside_of(const NormalForm& form, const Form* place, Symbol binder) const;

  ProofContext proof_;
  Cases& cases_;
  std::vector<std::pair<const Form*, Linear>> places_;  ///< With their sizes.
};

}  // namespace soapstone::verifier
