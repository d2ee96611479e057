// See run_clock.h. The second number in schedstat is the time spent waiting on a run queue.
#include "cost/timing/run_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace soapstone::cost {

RunClock::RunClock() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

RunClock::~RunClock() {
  if (file_ >= 0) close(file_);
}

RunClock::RunClock(RunClock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

RunClock& RunClock::operator=(RunClock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

std::int64_t RunClock::waited_ns() const {
  std::array<char, 96> text;
  const ssize_t size = file_ < 0 ? 0 : pread(file_, text.data(), text.size() - 1, 0);
  if (size <= 0) return 0;
  text[static_cast<std::size_t>(size)] = '\0';
  char* second = nullptr;
  (void)std::strtoll(text.data(), &second, 10);
  return std::strtoll(second, nullptr, 10);
}

}  // namespace soapstone::cost
