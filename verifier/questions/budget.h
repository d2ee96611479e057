// What ends a proof before it is done: a budget of steps, or whoever waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

/// Nobody waits for the proof any more. Caught by Attempt::run().
struct ProofStopped {};

/// Steps a proof may take, and pairs of expressions that it may try to match. Counted, not timed,
/// so that a verdict does not depend on the machine.
class Budget {
 public:
  explicit Budget(std::uint64_t steps, std::uint64_t pairs, std::function<bool()> stopped = {})
      : all_(steps), left_(steps), all_pairs_(pairs), pairs_left_(pairs),
        stopped_(std::move(stopped)) {}
  std::uint64_t spent() const { return all_ - left_; }
  std::uint64_t pairs_tried() const { return all_pairs_ - pairs_left_; }
  /// Errors: throws OutOfBudget where no step is left, and ProofStopped.
  void spend() {
    go_on();
    if (left_ == 0) throw OutOfBudget{"too many steps"};
    --left_;
  }
  /// Two expressions are about to be matched. A step may try many pairs, and their number grows
  /// exponentially with how deep sums and maxima are nested. Errors: as spend().
  void try_pair() {
    go_on();
    if (pairs_left_ == 0) throw OutOfBudget{"too many pairs of expressions to match"};
    --pairs_left_;
  }
  /// For what takes long and is no step. Errors: throws ProofStopped.
  void go_on() const {
    if (stopped_ && stopped_()) throw ProofStopped{};
  }

 private:
  std::uint64_t all_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t all_pairs_ = 0;
  std::uint64_t pairs_left_ = 0;
  std::function<bool()> stopped_;
};

}  // namespace soapstone::verifier
