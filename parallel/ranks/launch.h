// How this process was started: alone, or by mpirun as one of several. Known from the environment
// alone, so that a process that was started alone never initializes MPI.
#pragma once

#include <cstddef>

namespace soapstone::parallel {

struct MpiLaunch {
  std::size_t rank = 0;
  std::size_t ranks = 1;          ///< 1: started alone.
  std::size_t ranks_on_node = 1;  ///< How many of them run on this machine.
  bool is_alone() const { return ranks == 1; }
};

/// From the variables that Open MPI's mpirun sets.
MpiLaunch launch_of_environment();

std::size_t cores_of_node();
/// Cores that the threads of this process may run on: mpirun may bind it to a few.
std::size_t cores_of_process();

/// Threads for one rank when all work at once: its share of the machine's cores, and no more than
/// it is bound to.
int jobs_of_rank(const MpiLaunch& launch);

}  // namespace soapstone::parallel
