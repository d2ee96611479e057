// Communication over MPI. No other file of the project includes MPI's headers but mpi.cpp.
#pragma once

#include <memory>

#include "parallel/ranks/communicator.h"

namespace soapstone::parallel {

struct MpiOptions {
  /// Larger messages are sent in pieces of this size: MPI counts in `int`.
  std::size_t most_bytes_at_once = std::size_t{1} << 30;
};

/// All processes that mpirun started. Initializes MPI, which a process can do once; when it is
/// destroyed it waits for the others to be destroyed too. A rank that waits sleeps, and leaves its
/// core to others.
/// Errors: kUnavailable if MPI cannot be initialized.
core::Result<std::unique_ptr<Communicator>> mpi_world(const MpiOptions& options = {});

}  // namespace soapstone::parallel
