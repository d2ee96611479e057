// The clock of all measurements: wall time, less the time for which the thread was ready to run but
// had to wait for a core. On a quiet machine that is wall time; on a busy one it still is the time
// that the work takes.
#pragma once

#include <chrono>
#include <cstdint>

namespace soapstone::cost {

/// To be used by the thread that made it. Where the system does not tell waiting times (they come
/// from Linux's /proc), it is a plain wall clock.
class RunClock {
 public:
  RunClock();
  ~RunClock();
  RunClock(RunClock&& other) noexcept;
  RunClock& operator=(RunClock&& other) noexcept;

  /// Microseconds that `work()` runs.
  template <class Work>
  double time_us(Work&& work) const {
    using Clock = std::chrono::steady_clock;
    // Reading the waiting time takes a microsecond, so it stays outside.
    const std::int64_t waited_before_ns = waited_ns();
    const Clock::time_point start = Clock::now();
    work();
    const Clock::time_point end = Clock::now();
    const double waited_us = static_cast<double>(waited_ns() - waited_before_ns) / 1000;
    const double wall_us = std::chrono::duration<double, std::micro>(end - start).count();
    return waited_us < wall_us ? wall_us - waited_us : wall_us;
  }

 private:
  std::int64_t waited_ns() const;

  int file_;  // -1: none
};

}  // namespace soapstone::cost
