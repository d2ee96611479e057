// The other half of a verdict: sizes and values at which the two sides of a rule differ. Shares no
// code with the prover.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/literal.h"
#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// A disagreement that anyone can run again.
struct Refutation {
  std::vector<std::pair<std::string, std::int64_t>> sizes;  ///< One for each symbol of the rule.
  std::vector<std::pair<std::string, core::LiteralPtr>> inputs;  ///< Inputs of both sides, in f64.
  std::size_t output = 0, element = 0;
  double source = 0, target = 0;  ///< Computed by the reference executor.
  /// All of it in a few lines, each input written out where it is small.
  std::string text;
};

/// Looks at `size_count` random sizes, small ones first, and makes the example as small as it can:
/// first the sizes, then as many input elements as possible 0, or else 1.
/// None: no difference was found, or no sizes satisfy the guard.
/// Precondition: no parameters left (rules::specialize).
std::optional<Refutation> refute(const rules::Rule& rule, int size_count, std::uint64_t seed);

/// An input at which the source has a value and the target has none, such as 1/0. None: none was
/// found. Only worth a look where a proof has failed for that reason: a target may also overflow.
std::optional<Refutation> refute_values(const rules::Rule& rule, int size_count,
                                        std::uint64_t seed);

/// Sizes at which the results of the two sides have different shapes although everything else
/// fits: what the part of the guard with the label `rule.result_shape` keeps out. A rule whose
/// author gave no sizes (rules/taso/import_taso.h) is wrong if there are any. Has no inputs or
/// values.
std::optional<Refutation> refute_shapes(const rules::Rule& rule, std::uint64_t seed);

/// The same as refute() without making it small or running it again: only whether there is one.
bool is_refuted(const rules::Rule& rule, int size_count, std::uint64_t seed);

}  // namespace soapstone::verifier
