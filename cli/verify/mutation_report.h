// The report of verify-rules --mutate: a table for people, JSON for machines.
#pragma once

#include <string>

#include "core/base/result.h"
#include "verifier/mutation/mutation_score.h"

namespace soapstone::cli {

/// `verbose`: also examples of what is open or slow.
std::string mutation_text(const verifier::MutationScore& score, bool verbose);
std::string mutation_json(const verifier::MutationScore& score);
/// Errors: kRequirementNotMet if a wrong mutant is proved.
core::Status require_refuted(const verifier::MutationScore& score);

}  // namespace soapstone::cli
