// Numbers against a proof: both sides of a rule on random sizes and values, in a prime field and on
// the kernels of a backend. Shares nothing with the prover.
#pragma once

#include <cstdint>
#include <string>

#include "rules/rule/rule.h"
#include "runtime/launches/backend.h"

namespace soapstone::verifier {

struct SecondOpinionOptions {
  int field_sizes = 20;  ///< Sizes in the prime field; a few of them in doubles too.
  int float_sizes = 50;  ///< Sizes in f32 on the backend.
  std::uint64_t seed = 0;
};

struct SecondOpinion {
  int field_sizes = 0;
  int float_sizes = 0;
  /// On the backend: |a − b| over the larger of |a| and the result's root mean square.
  double largest_relative_error = 0;
  /// Sizes, element and both values of the first disagreement. Empty: the sides agree.
  std::string disagreement;
  bool agrees() const { return disagreement.empty(); }
};

/// Fewer float sizes are reported where not that many were found to satisfy the guard. Sizes may
/// come twice, with other values.
/// Precondition: no parameters left (rules::specialize).
/// Errors: kUnsupported: no sizes satisfy the guard, or the backend cannot run the rule.
core::Result<SecondOpinion> second_opinion(const rules::Rule& rule, runtime::Backend& backend,
                                           const SecondOpinionOptions& options = {});

}  // namespace soapstone::verifier
