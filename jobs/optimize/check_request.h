// Whether the fields of a request of optimize() fit together.
#pragma once

#include "core/base/result.h"
#include "jobs/optimize/request.h"

namespace soapstone::jobs {

/// Reads no model and runs nothing. Errors: kUsage if fields contradict each other, or what they
/// need is missing: the message names them; kInvalidInput if a file could not be written.
core::Status check_request(const OptimizeRequest& request);

}  // namespace soapstone::jobs
