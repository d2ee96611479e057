// What ends a proof before it is done: a budget of steps, or whoever waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "verifier/integers/linear.h"

namespace soapstone::verifier {

/// Nobody waits for the proof any more. Caught by Attempt::run().
struct ProofStopped {};

/// Steps a proof may take. Counted, not timed, so that a verdict does not depend on the machine.
class Budget {
 public:
  explicit Budget(std::uint64_t steps, std::function<bool()> stopped = {})
      : all_(steps), left_(steps), stopped_(std::move(stopped)) {}
  std::uint64_t spent() const { return all_ - left_; }
  /// Errors: throws OutOfBudget where no step is left, and ProofStopped.
  void spend() {
    go_on();
    if (left_ == 0) throw OutOfBudget{"too many steps"};
    --left_;
  }
  /// For what takes long and is no step. Errors: throws ProofStopped.
  void go_on() const {
    if (stopped_ && stopped_()) throw ProofStopped{};
  }

 private:
  std::uint64_t all_ = 0;
  std::uint64_t left_ = 0;
  std::function<bool()> stopped_;
};

}  // namespace soapstone::verifier
