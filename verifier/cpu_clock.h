// CPU time of the calling thread: what proofs and refutations cost on a machine that does other
// things, too.
#pragma once

#include <ctime>

namespace soapstone::verifier {

inline double thread_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace soapstone::verifier
