// Powers of atoms within one product: x·relu(x) = relu(x)², |x|² = x², and c² = c for a truth value
// c. And [i = j]·x[i]·x[j] = [i = j]·x[i]².
#pragma once

#include "verifier/algebra/integer_ranges.h"
#include "verifier/checking/proof_context.h"

namespace soapstone::verifier {

class Powers {
 public:
  Powers(const ProofContext& proof, const IntegerRanges& ranges) : proof_(proof), ranges_(ranges) {}

  void simplify(Summand& summand) const;

 private:
  bool join_with_relu(Summand& summand) const;

  ProofContext proof_;
  const IntegerRanges& ranges_;
};

/// Reads at indices that an equation of the guards or the context makes equal become one.
void unite_equal_reads(Summand& summand, const FactSet& context);

}  // namespace soapstone::verifier
