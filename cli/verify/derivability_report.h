// The report of verify-rules --derivable-from: a table for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/verify/derive.h"

namespace soapstone::cli {

/// `only_open`: leaves out the rules that are derivable.
std::string derivability_text(const jobs::DeriveOutcome& outcome, bool only_open);
std::string derivability_json(const jobs::DeriveOutcome& outcome);
/// Errors: kRequirementNotMet if one rule is not derivable.
core::Status require_derivable(const jobs::DeriveOutcome& outcome);

}  // namespace soapstone::cli
