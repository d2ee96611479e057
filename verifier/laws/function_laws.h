// Functions of forms: f(x) = g(x) under conditions, such as relu(r·x) = r·relu(x) for r ≥ 0 and
// f(max(a, b)) = max(f(a), f(b)) for f that never falls; what both sides of a comparison add, or
// are multiplied by and is positive, is left out. What no law says anything of becomes an atom.
#pragma once

#include <optional>
#include <vector>

#include "verifier/algebra/simplifier.h"
#include "verifier/laws/exponentials.h"
#include "verifier/laws/roots.h"

namespace soapstone::verifier {

class Maxima;

class FunctionLaws {
 public:
  FunctionLaws(const ProofContext& proof, const IntegerRanges& ranges, const Signs& signs,
               Cases& cases, const Selectors& selectors, Simplifier& simplifier,
               Exponentials& exponentials, Maxima& maxima, Expansion& expansion)
      : proof_(proof), ranges_(ranges), signs_(signs), cases_(cases), selectors_(selectors),
        simplifier_(simplifier), exponentials_(exponentials), roots_(proof, signs), maxima_(maxima),
        expansion_(expansion) {}

  NormalForm apply(ops::Function function, const std::vector<NormalForm>& arguments,
                   const FactSet& context);
  /// The same for arguments without outer guards.
  NormalForm apply_to_whole(ops::Function function, std::vector<NormalForm> arguments,
                            const FactSet& context);
  NormalForm relu_of_whole(const NormalForm& form, const FactSet& context);

 private:
  using Result = std::optional<NormalForm>;

  Result by_other_functions(ops::Function function, const std::vector<NormalForm>& arguments,
                            const FactSet& context);
  Result decided(ops::Function function, const std::vector<NormalForm>& arguments,
                 const FactSet& context);
  Result through_selector(ops::Function function, const std::vector<NormalForm>& arguments,
                          const FactSet& context);
  Result by_own_law(ops::Function function, const std::vector<NormalForm>& arguments,
                    const FactSet& context);
  Result by_property(ops::Function function, const NormalForm& x, const FactSet& context);
  Result compared(ops::Function function, const std::vector<NormalForm>& arguments,
                  const FactSet& context);
  Result magnitude(const NormalForm& x, const FactSet& context);
  Result root(const NormalForm& x, const FactSet& context) const;
  Result small_power(const std::vector<NormalForm>& arguments, const FactSet& context);
  NormalForm select(const std::vector<NormalForm>& arguments, const FactSet& context);
  Result homogeneous(ops::Function function, const NormalForm& form, const FactSet& context);
  Result without_parts(ops::Function function, const Summand& product, const FactSet& context);
  Result into_maximum(ops::Function function, const NormalForm& form, const FactSet& context);

  ProofContext proof_;
  const IntegerRanges& ranges_;
  const Signs& signs_;
  Cases& cases_;
  const Selectors& selectors_;
  Simplifier& simplifier_;
  Exponentials& exponentials_;
  Roots roots_;
  Maxima& maxima_;  ///< relu(x) = max(x, 0): each of the two is made of the other.
  Expansion& expansion_;
};

}  // namespace soapstone::verifier
