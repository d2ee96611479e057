// The report of optimize-graph: a table for people, JSON for machines.
#pragma once

#include <string>

#include "jobs/optimize/outcome.h"

namespace soapstone::cli {

/// Without the explanation, which has a text of its own.
std::string optimize_text(const jobs::OptimizeOutcome& outcome);
/// Includes the explanation, if there is one. Values that were not measured are null.
std::string optimize_json(const jobs::OptimizeOutcome& outcome);

/// The error that the command ends with once the report is out. Errors: kNotEquivalent,
/// kInterrupted; kRequirementNotMet for a peak of memory above its limit, or a speedup below the
/// one required.
core::Status conclude_optimize(const jobs::OptimizeOutcome& outcome, double require_speedup);

}  // namespace soapstone::cli
