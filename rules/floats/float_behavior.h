// How the two sides of a rule differ in floating point, by experiment: in roundings on ordinary
// inputs. Behavior at the edges of types is in edge_trials.h.
#pragma once

#include <optional>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// Two elements that differ by more than rounding in doubles.
struct FloatDifference {
  std::size_t output = 0, element = 0;
  double source = 0, target = 0;
};

struct FloatObservation {
  /// kExact: the same bits every time. kReassociates: other ones. Beyond that: one side overflows
  /// in doubles where the other one does not.
  FloatBehavior behavior = FloatBehavior::kExact;
  std::optional<FloatDifference> difference;
};

/// Runs both sides on signed and on positive inputs of several magnitudes.
/// Precondition: all sizes are numbers; no opaque node.
FloatObservation observe_floats(const Rule& sides, std::uint64_t seed);

}  // namespace soapstone::rules
