// Proofs as text: the rules, and for each the answers that its proof needs but need not search for.
// Checking a log runs neither the guesser nor elimination. A bijection from the log is tried by the
// checker, a contradiction from the log is confirmed by the solver, so that a wrong log proves
// nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "verifier/proof/verify.h"

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
/// Whether the log is about these instances of one rule, as they stand in its file: about each of
/// them, for each value of its parameters that verify_all() proves, and about nothing else.
/// Errors: kInvalidInput: another rule, another text, an instance that is missing.
core::Status check_subject(const std::vector<LoggedProof>& proofs,
                           std::span<const rules::Rule> instances, int specializations);
/// Replays all of them. Errors: kInvalidInput: a rule that its record does not prove, or none at
/// all.
core::Status check_proofs(const std::vector<LoggedProof>& proofs, Solver& solver);
/// The same for a log as text, and how many proofs it holds. Errors: those of parse_proofs, too.
core::Result<std::size_t> check_proofs(std::string_view text, Solver& solver);

}  // namespace soapstone::verifier
