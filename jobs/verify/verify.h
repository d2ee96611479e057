// verify(): are rules true? Proves them for all sizes, refutes them with an example, or says why
// neither was possible.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "rules/rule/rule.h"
#include "verifier/batch.h"

namespace soapstone::jobs {

struct VerifyRequest {
  std::vector<std::string> files;  ///< Rule files, TASO's among them; see also `text`.
  std::string text;  ///< Rules in the rule language. Neither files nor text: the shipped files.
  verifier::BatchOptions batch;
  bool write = false;  ///< Puts the evidence under the rules of `files`, or of the shipped files.
  /// Whether each proved rule is tried with numbers on the kernels of this machine, too. None: if
  /// its evidence is written.
  std::optional<bool> second_opinion;
  std::string proofs;  ///< Folder for a log of each proof; empty: none is written.
};

struct VerifyOutcome {
  std::vector<verifier::RuleVerdict> verdicts;
  bool finished = false;  ///< False: the job was stopped, and verdicts are missing.

  /// Every rule that was asked for has a proof.
  bool all_proved() const;
};

/// A refuted rule is an outcome, not an error. Errors: those of reading and writing the files;
/// kUsage if evidence is to be written and there is no file for it.
core::Result<VerifyOutcome> verify(const VerifyRequest& request, const Context& context = {});

/// The rules of all files of a request, in order. Errors: those of reading them.
core::Result<std::vector<rules::Rule>> read_all_rules(const VerifyRequest& request);

}  // namespace soapstone::jobs
