// What a bound of placements lets operators choose from, and what each choice takes at least. All
// times are ticks, and those of the fastest kind of device.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

struct BoundOption {
  double time = 0;  ///< Of one part.
  double load = 0;  ///< Of those that the fullest device has; in a group, of a piece, on average.
  double work = 0;  ///< Of all parts, divided by all devices.
};

/// Operators that share a weight choose for themselves once it is known how many devices hold the
/// weight, its degree.
struct BoundGroup {
  std::vector<std::uint32_t> members;
  std::vector<double> sync;                                    ///< By degree − 1, at least.
  std::vector<std::vector<std::vector<BoundOption>>> options;  ///< By member and degree − 1.
};

/// How one operator is cut, and on how many devices it is.
struct SingleOption {
  BoundOption takes;
  double sync = 0;
  std::size_t choice = 0, devices = 0;
};

/// Operators with a weight of their own, or none, each the only reader of the one before.
struct BoundChain {
  std::vector<std::uint32_t> operators;
  std::vector<std::vector<SingleOption>> options;  ///< Of each.
  /// Between the first part of an operator and the first of the next, for a choice of both: what
  /// has to be sent, or waited for. By option of the one, then of the other.
  std::vector<std::vector<double>> delays;
  /// From the start of the first part of an operator to the end of the last part of the next: what
  /// that takes beside one part of each.
  std::vector<std::vector<double>> pairs;
};

struct BoundProblem {
  explicit BoundProblem(const PlacementProblem& problem);

  std::vector<BoundGroup> groups;
  std::vector<BoundChain> chains;
  std::vector<std::vector<std::uint32_t>> inputs, readers;  ///< Of each operator.
  /// Of each operator in a chain, by devices − 1: to synchronize its weight, at least. Ascending.
  std::vector<std::vector<double>> sync_of_devices;
  std::vector<bool> continues_chain;     ///< Reads the operator before it in one.
  std::vector<std::vector<bool>> after;  ///< Which operators need each one's result.

  std::size_t size() const { return inputs.size(); }
};

}  // namespace soapstone::parallel
