// See large_pages.h.
#include "core/base/large_pages.h"

#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace soapstone::core {

void prefer_large_pages(std::span<std::byte> memory) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kLeast = std::size_t{4} << 20;  // At least one large page is whole then.
  if (memory.size() < kLeast) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + memory.size()) / page * page;
  // A refusal changes nothing: pages are small then.
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)memory;
#endif
}

}  // namespace soapstone::core
