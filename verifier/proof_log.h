// Proofs as text: the rules, and for each the answers that its proof needs but need not search for.
// Checking a log runs neither the guesser nor elimination. A bijection from the log is tried by the
// checker, a contradiction from the log is confirmed by the solver, so that a wrong log proves
// nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "verifier/verify.h"

namespace soapstone::verifier {

/// A rule without parameters, and what its proof found.
struct LoggedProof {
  rules::Rule rule;
  ProofRecord record;
};

/// The log; ends in a checksum of all that stands before it.
std::string print_proofs(const std::vector<LoggedProof>& proofs);
/// Errors: kInvalidInput with the line: not a log, damaged, or a rule that cannot be read.
core::Result<std::vector<LoggedProof>> parse_proofs(std::string_view text);
/// Replays all of them, and says how many. Errors: those of parse_proofs; kInvalidInput: a rule
/// that its record does not prove.
core::Result<std::size_t> check_proofs(std::string_view text, Solver& solver);

}  // namespace soapstone::verifier
