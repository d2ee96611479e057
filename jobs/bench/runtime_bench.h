// Times models as files in a runtime that is not ours.
#pragma once

#include "jobs/bench/bench.h"

namespace soapstone::jobs {

/// Errors: those of reading the models; kUnsupported: the runtime cannot load or run one of them;
/// kUnavailable: it does not work; kInterrupted.
core::Result<BenchOutcome> bench_in(Deployment deployment, const BenchRequest& request,
                                    const Context& context);

}  // namespace soapstone::jobs
