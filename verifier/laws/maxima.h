// Maxima: max(max(a, b), c) = max(a, b, c), max(a + c, b + c) = max(a, b) + c, max(r·a, r·b) =
// r·max(a, b) for r ≥ 0, max(f(a), f(b)) = f(max(a, b)) for f of two slopes that never falls, and
// max(x, 0) = relu(x). Pieces that cannot win or stand twice are dropped.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "verifier/algebra/open_piece.h"
#include "verifier/algebra/simplifier.h"
#include "verifier/checking/equality.h"
#include "verifier/laws/exponentials.h"

namespace soapstone::verifier {

class FunctionLaws;

class Maxima {
 public:
  Maxima(const ProofContext& proof, const Signs& signs, const Cases& cases, Simplifier& simplifier,
         Exponentials& exponentials, FunctionLaws& functions, Expansion& expansion,
         MakeEquality make_equality)
      : proof_(proof), signs_(signs), cases_(cases), simplifier_(simplifier),
        exponentials_(exponentials), functions_(functions), expansion_(expansion),
        make_equality_(std::move(make_equality)) {}

  /// The largest of all pieces. Errors: throws OutOfBudget if there are none, or too many.
  NormalForm maximum(std::vector<OpenPiece> pieces, const FactSet& context);

 private:
  using Pieces = std::vector<OpenPiece>;
  using Result = std::optional<NormalForm>;
  class Flattening;

  NormalForm close(Pieces pieces, const FactSet& context);
  Result pull_out_slopes(const Pieces& pieces, const FactSet& context);
  Result pull_out_addends(Pieces& pieces, const FactSet& context);
  Result pull_out_scale(Pieces& pieces, const FactSet& context);
  Result pull_out_factors(Pieces& pieces, const FactSet& context);
  Result pull_out_exponential(Pieces& pieces, const FactSet& context);
  Result pull_out_power(Pieces& pieces, const FactSet& context);
  Result pull_out_bound(const Pieces& pieces, const FactSet& context);
  Result without_zero(Pieces& pieces, const FactSet& context);
  Pieces without_duplicates(Pieces pieces, const FactSet& context) const;
  bool is_present(const OpenPiece& piece, const FactSet& context) const;

  ProofContext proof_;
  const Signs& signs_;
  const Cases& cases_;
  Simplifier& simplifier_;
  Exponentials& exponentials_;
  FunctionLaws& functions_;  ///< relu(x) = max(x, 0): each of the two is made of the other.
  Expansion& expansion_;
  MakeEquality make_equality_;
};

}  // namespace soapstone::verifier
