// See host_stopwatch.h. The second number in schedstat is the time spent waiting on a run queue.
#include "runtime/device/host_stopwatch.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace soapstone::runtime {

HostStopwatch::HostStopwatch() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

HostStopwatch::~HostStopwatch() {
  if (file_ >= 0) close(file_);
}

// Reading the waiting time takes a microsecond, so it stays outside of what the clock counts.

void HostStopwatch::start() {
  waited_before_ns_ = waited_ns();
  start_ = std::chrono::steady_clock::now();
}

double HostStopwatch::stop_us() {
  const auto end = std::chrono::steady_clock::now();
  const double waited_us = static_cast<double>(waited_ns() - waited_before_ns_) / 1000;
  const double wall_us = std::chrono::duration<double, std::micro>(end - start_).count();
  return waited_us < wall_us ? wall_us - waited_us : wall_us;
}

std::int64_t HostStopwatch::waited_ns() const {
  std::array<char, 96> text;
  const ssize_t size = file_ < 0 ? 0 : pread(file_, text.data(), text.size() - 1, 0);
  if (size <= 0) return 0;
  text[static_cast<std::size_t>(size)] = '\0';
  char* second = nullptr;
  (void)std::strtoll(text.data(), &second, 10);
  return std::strtoll(second, nullptr, 10);
}

}  // namespace soapstone::runtime
