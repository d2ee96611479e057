// The kernel's limits on memory, read and set.
#include "core/base/memory_limit.h"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace soapstone::core {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// A sanitizer maps terabytes for its own books, and would fail at once. The kernel keeps this
/// limit and does nothing about it, so that it can still be asked what fits.
constexpr auto kResource = RLIMIT_RSS;
#else
constexpr auto kResource = RLIMIT_DATA;
#endif

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page_bytes <= 0) return std::uint64_t{4} << 30;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

/// The bytes that this process's container may use, by either version of control groups; those of
/// the machine if no limit is set.
std::uint64_t available_memory() {
  std::uint64_t least = machine_memory();
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t bytes = 0;
    if (std::ifstream(file) >> bytes) least = std::min(least, bytes);
  }
  return least;
}

}  // namespace

std::uint64_t default_memory_limit() { return available_memory() / 2; }

void limit_memory(std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(kResource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, bytes});
  (void)::setrlimit(kResource, &limit);
}

std::uint64_t memory_limit() {
  rlimit limit{};
  if (::getrlimit(kResource, &limit) != 0) return machine_memory();
  return std::min<std::uint64_t>(limit.rlim_cur, machine_memory());
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

Status check_fits_memory(std::uint64_t bytes, std::string_view what) {
  if (bytes <= memory_limit()) return Done{};
  return unsupported(fmt::format("{} needs {} of memory, and {} are allowed", what,
                                 memory_text(bytes), memory_text(memory_limit())),
                     "--max-memory GIB allows more");
}

std::string memory_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.1f} GiB", value / (1 << 30));
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{:.1f} MiB", value / (1 << 20));
  return fmt::format("{:.0f} KiB", std::max(1.0, value / 1024));
}

}  // namespace soapstone::core
