// Decides which proofs of a rule file are believed. A line that says "proof" can be written by
// anyone, so only the shipped files are taken at their word; the rules of all others are proved
// here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "rules/rule/rule.h"

namespace soapstone::jobs {

/// The rules of the file, with evidence and labels that hold: of a shipped file those that it
/// states; of any other one those that were found by proving all instances, now or in an earlier
/// run of this program. A label that claims less than was found is corrected, with a warning. With
/// `trust_proofs` the lines of this version of the prover count, and nothing is proved. Rules of
/// shipped files stay as they are written.
/// Errors: those of rules::read_rules; kInterrupted.
core::Result<rules::RuleFile> read_believed(const std::filesystem::path& file, bool trust_proofs,
                                            const Context& context);

/// The rules of a text that lies in no file; all of them are proved.
core::Result<std::vector<rules::Rule>> parse_believed(const std::string& text,
                                                      const Context& context);

}  // namespace soapstone::jobs
