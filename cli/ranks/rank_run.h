// Runs a command's work as one of the ranks that mpirun started. The first rank alone prints,
// writes files and has an exit code other than 0: mpirun ends all when one rank exits with another.
#pragma once

#include <functional>

#include "cli/session/run_main.h"
#include "parallel/ranks/launch.h"
#include "parallel/ranks/mpi.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::cli {

struct RankRun {
  parallel::MpiLaunch launch;
  parallel::MpiOptions mpi;  ///< Its on_abort is set.
  /// What to do after a run that was ended from outside; may be empty.
  std::string_view hint;
  /// The first rank does some of the work alone, with threads: a warning tells if mpirun binds it
  /// to fewer cores than there are.
  bool first_has_more_work = false;
};

/// The ranks of a command, if mpirun started several.
struct RanksOfCommand {
  parallel::Ranks* together = nullptr;          ///< Which fail together.
  runtime::Collectives* collectives = nullptr;  ///< The same ones.
};

/// `body` gets the ranks, or nulls if this process was started alone, which then never sees MPI. It
/// may return on other ranks as soon as they have nothing to do; they wait for the first. Errors:
/// of the body on any rank, on all ranks.
core::Status run_on_ranks(const RankRun& run, Session& session,
                          const std::function<core::Status(const RanksOfCommand&)>& body);

}  // namespace soapstone::cli
