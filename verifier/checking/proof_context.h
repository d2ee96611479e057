// All steps of one proof share its expressions, an oracle for questions on integers, and a budget
// of steps. The context knows no law.
#pragma once

#include <cstdint>

#include "verifier/forms/arena.h"
#include "verifier/questions/oracle.h"

namespace soapstone::verifier {

/// Steps a proof may take. Counted, not timed, so that a verdict does not depend on the machine.
class Budget {
 public:
  explicit Budget(std::uint64_t steps) : all_(steps), left_(steps) {}
  std::uint64_t spent() const { return all_ - left_; }
  /// Errors: throws OutOfBudget where no step is left.
  void spend() {
    if (left_ == 0) throw OutOfBudget{"too many steps"};
    --left_;
  }

 private:
  std::uint64_t all_ = 0;
  std::uint64_t left_ = 0;
};

struct ProofContext {
  Arena& arena;
  Oracle& oracle;
  Budget& budget;

  void spend() const { budget.spend(); }
  bool possible(const FactSet& facts) const { return oracle.possible(facts); }
  bool implied(const FactSet& facts, const Fact& conclusion) const {
    return oracle.implied(facts, conclusion);
  }
};

}  // namespace soapstone::verifier
