// All steps of one proof share its expressions, an oracle for questions on integers, and a budget
// of steps. The context knows no law.
#pragma once

#include "verifier/forms/arena.h"
#include "verifier/questions/budget.h"
#include "verifier/questions/oracle.h"

namespace soapstone::verifier {

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
