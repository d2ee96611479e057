// Whether a rule is proved, and nothing else.
#pragma once

#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {

inline bool proves(const rules::Rule& rule) {
  const auto solver = make_z3_solver();
  return attempt_proof(rule, *solver, {}).empty();
}

}  // namespace soapstone::verifier
