// The clock of all measurements on the host: wall time, less the time for which the thread was
// ready to run but had to wait for a core. On a quiet machine that is wall time; on a busy one it
// still is the time that the work takes.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/device/queue.h"

namespace soapstone::runtime {

/// To be used by the thread that made it. Where the system does not tell waiting times (they come
/// from Linux's /proc), it is a plain wall clock.
class HostStopwatch final : public Stopwatch {
 public:
  HostStopwatch();
  ~HostStopwatch() override;
  HostStopwatch(const HostStopwatch&) = delete;
  HostStopwatch& operator=(const HostStopwatch&) = delete;

  void start() override;
  double stop_us() override;

 private:
  std::int64_t waited_ns() const;

  int file_;  // -1: none
  std::int64_t waited_before_ns_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace soapstone::runtime
