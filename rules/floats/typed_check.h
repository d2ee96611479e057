// Compares the sides of a rule on numbers of their types: integers near the ends of their range,
// numbers that a cast rounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/floats/typed_run.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {

/// Whether real numbers do not tell what the rule computes: it has integers, which wrap, or casts,
/// which round.
bool needs_types(const Rule& rule);

/// An element that differs, and for which inputs.
struct TypedDifference {
  std::vector<TypedValues> inputs;
  std::size_t output = 0, element = 0;
  std::string source, target;  ///< The values; `no value` of a target that rejects the inputs.
  double source_number = 0, target_number = 0;
};

/// Inputs of the types of the source: small ones in trial 0, then more and more near the ends.
std::vector<TypedValues> draw_typed(const Graph& source, const Graph& target, Random& random,
                                    int trial);
/// None: the sides agree, or the source has no value. Errors: kUnsupported, as run_typed.
/// Precondition: all sizes are numbers.
Result<std::optional<TypedDifference>> compare_typed(const Rule& sides,
                                                     std::vector<TypedValues> inputs);
/// The first difference of `trials` draws.
Result<std::optional<TypedDifference>> find_typed_difference(const Rule& sides, Random& random,
                                                             int trials);

}  // namespace soapstone::rules
