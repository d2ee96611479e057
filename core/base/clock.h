// Clocks for reports and limits.
#pragma once

#include <chrono>
#include <ctime>

namespace soapstone::core {

inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// CPU time of the calling thread.
inline double thread_cpu_ms() { return 1e3 * seconds_of(CLOCK_THREAD_CPUTIME_ID); }
/// CPU time of all threads, since the process began.
inline double process_cpu_s() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
/// From some moment on; never goes back.
inline double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace soapstone::core
