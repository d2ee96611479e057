// Runs a command's work as one of the ranks that mpirun started. The first rank alone prints,
// writes files and has an exit code other than 0: mpirun ends all when one rank exits with another.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/session/run_main.h"
#include "parallel/ranks/connection.h"
#include "parallel/ranks/launch.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::cli {

struct RankRun {
  parallel::MpiLaunch launch;
  std::string hint = {};  ///< What to do after a run that was ended from outside.
  parallel::Waiting waiting = parallel::Waiting::kSleep;
  std::optional<std::chrono::milliseconds> time_limit = {};  ///< None: a rank may work for hours.
  /// The body calls collectives() itself, so a rank whose device or program fails cannot tell the
  /// others: it ends all at once. Other errors must be those of all ranks, or of one that comes
  /// after the last call.
  bool has_own_calls = false;
  /// The body looks at the session's wish to stop, on all ranks together: it has the two seconds
  /// that mpirun waits to end what it does.
  bool stops = false;
};

/// `body` gets the ranks, or null if this process was started alone, which then never sees MPI. It
/// may return on other ranks as soon as they have nothing to do; they wait for the first.
/// Errors: of the body on any rank, on all ranks.
core::Status run_on_ranks(const RankRun& run,
                          const std::function<core::Status(parallel::Ranks*)>& body);

}  // namespace soapstone::cli
