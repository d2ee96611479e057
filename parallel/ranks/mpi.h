// Ranks that are processes, by MPI. No other file of the project includes MPI's headers but
// mpi.cpp.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "parallel/ranks/connection.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::parallel {

struct MpiOptions {
  /// Larger messages are sent in pieces of this size: MPI counts in `int`.
  std::size_t most_bytes_at_once = std::size_t{1} << 30;
  Waiting waiting = Waiting::kSleep;
  /// How long nothing may arrive while a rank waits for it; none: for ever.
  std::optional<std::chrono::milliseconds> time_limit = std::chrono::seconds(60);
  /// Called by abort() with its reason, before all ranks end.
  std::function<void(const std::string& reason)> on_abort = {};
};

/// All processes that mpirun started, with memory of the host. Initializes MPI, which a process can
/// do once; when the object is destroyed it waits for the others to be destroyed too. That ranks
/// make different calls is noticed by sizes of messages and by the time limit, not as such. After
/// an error other than kInvalidInput and kUnsupported, end the process: then mpirun ends the other
/// ranks. abort() ends all ranks at once with exit code 7. Errors: kUnavailable if MPI cannot be
/// initialized.
core::Result<std::unique_ptr<runtime::Collectives>> mpi_world(const MpiOptions& options = {});

}  // namespace soapstone::parallel
