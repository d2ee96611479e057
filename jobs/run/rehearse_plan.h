// rehearse(): how long the programs of a plan's ranks take on this machine, and what memory they
// need. They compute as they will when the plan runs, but exchange nothing: the topology says how
// long that takes.
#pragma once

#include <vector>

#include "jobs/base/context.h"
#include "jobs/run/prepared_run.h"
#include "parallel/running/run_figures.h"

namespace soapstone::jobs {

struct Rehearsal {
  parallel::RunFigures figures;    ///< As of a run.
  std::vector<double> peak_bytes;  ///< By rank.
};

/// Lets as many ranks compute at a time as the machine has cores, and of ranks whose graphs are
/// equal only one, unless a core would be idle. Errors: kUnsupported, kUnavailable: a program
/// cannot be compiled or run here; kInterrupted.
core::Result<Rehearsal> rehearse(const PreparedRun& prepared, const DeviceRequest& device,
                                 const Context& context);

}  // namespace soapstone::jobs
