// Optimizes the graphs inside If, Loop and Scan of a result, each as a model of its own
// (docs/adr/0058).
#pragma once

#include "jobs/optimize/optimize_job.h"
#include "jobs/optimize/outcome.h"

namespace soapstone::jobs {

/// Whether the model has nodes with bodies. They share the time of the job with the graph around
/// them.
bool has_bodies(const models::OnnxModel& model);

/// Begins with the file that write_result() has written, or would have in a dry run. If a body is
/// better, that file is replaced, and `report` and `run` say so. The new file is judged as a whole.
/// A body with which something is wrong stays as it is. Errors: those of write_result().
core::Status optimize_bodies(const OptimizeRequest& request, const OptimizeJob& job,
                             search::OptimizeReport& report, RunSummary& run,
                             const Context& context);

}  // namespace soapstone::jobs
