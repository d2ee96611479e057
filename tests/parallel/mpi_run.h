// Runs the current test once more under mpirun, as several processes.
#pragma once

#include <string>

namespace soapstone::parallel::test {

struct MpiRun {
  int exit_code = -1;
  std::string output;  ///< Of all ranks, and of mpirun.
};

MpiRun run_as_ranks(int count);

}  // namespace soapstone::parallel::test
