// optimize(): finds a faster graph that computes the same as a model, checks it, and writes it.
#pragma once

#include "jobs/base/context.h"
#include "jobs/optimize/outcome.h"
#include "jobs/optimize/request.h"

namespace soapstone::jobs {

/// A model that cannot be made faster is an outcome, and so is a result that was not equivalent (it
/// is not written). Errors: those of check_request(), before anything is read; those of reading the
/// model, the rules and the inputs; kUnsupported for a rule without a proof; kInvalidInput if a
/// file cannot be written.
core::Result<OptimizeOutcome> optimize(const OptimizeRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
