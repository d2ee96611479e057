// generate(): finds all equalities between small graphs of the given operators, keeps those that
// the others do not imply, proves them for all sizes, and writes them as a rule file.
#pragma once

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "jobs/generate/request.h"

namespace soapstone::jobs {

/// The outcome of an assistant (GenerateRequest::is_assistant) is empty. Errors: kUsage for an
/// unknown operator or preset; kRequirementNotMet if the memory limit is too small; kInvalidInput
/// if the output cannot be written; kInterrupted.
core::Result<GenerateOutcome> generate(const GenerateRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
