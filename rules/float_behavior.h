// How the two sides of a rule differ in floating point, by experiment. The model: an operator
// computes its result as if exactly and rounds it once to f32. The order in which a kernel adds is
// its own affair and changes with sizes anyway; what a rule adds or removes are roundings.
#pragma once

#include <optional>

#include "rules/rule.h"

namespace soapstone::rules {

/// Two elements that differ by more than rounding in doubles.
struct FloatDifference {
  std::size_t output = 0, element = 0;
  double source = 0, target = 0;
};

struct FloatObservation {
  /// kExact: the same bits every time. kChangesRange: with large inputs one side overflows where
  /// the other one does not. Else kReassociates.
  FloatBehavior behavior = FloatBehavior::kExact;
  std::optional<FloatDifference> difference;
};

/// Runs both sides on signed and on positive inputs of several magnitudes.
/// Precondition: all sizes are numbers; no opaque node.
FloatObservation observe_floats(const Rule& sides, std::uint64_t seed);

}  // namespace soapstone::rules
