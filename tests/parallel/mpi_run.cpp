// See mpi_run.h.
#include "tests/parallel/mpi_run.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace soapstone::parallel::test {

MpiRun run_as_ranks(int count) {
  // Root, and more ranks than cores, are what mpirun refuses otherwise; its leaks are its own.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string command =
      "mpirun -n " + std::to_string(count) + " /proc/" + std::to_string(getpid()) +
      "/exe --gtest_filter=" + test->test_suite_name() + "." + test->name() + " 2>&1";
  MpiRun run;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  std::array<char, 4096> piece;
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe))
    run.output.append(piece.data(), size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}

}  // namespace soapstone::parallel::test
