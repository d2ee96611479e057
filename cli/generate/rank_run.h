// Runs a command's work as one of the ranks that mpirun started. The first rank alone prints,
// writes files and has an exit code other than 0: mpirun ends all when one rank exits with another.
#pragma once

#include <functional>

#include "cli/session/run_main.h"
#include "parallel/ranks/launch.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::cli {

/// `body` gets the ranks, or null if this process was started alone, which then never sees MPI. It
/// may return on other ranks as soon as they have nothing to do; they wait, asleep, for the first.
/// Errors: of the body on any rank, on all ranks. `hint`: what to do after a run that was ended
/// from outside. A warning tells of ranks that mpirun binds to fewer cores than there are.
core::Status run_on_ranks(const parallel::MpiLaunch& launch, std::string_view hint,
                          Session& session,
                          const std::function<core::Status(parallel::Ranks*)>& body);

}  // namespace soapstone::cli
