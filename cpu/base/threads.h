// How many threads a kernel uses. oneDNN (as Debian builds it) and our own loops both run on
// OpenMP, whose thread count belongs to the calling thread.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>

namespace soapstone::cpu {

/// From now on, parallel regions that the calling thread opens have `threads` threads.
inline void use_threads(int threads) { omp_set_num_threads(threads); }

/// Calls `work(begin, end)` for consecutive ranges that cover 0 … count, one for each thread; less
/// threads where a range would be shorter than `grain`. Not called for an empty range.
template <class Work>
void parallel_ranges(int threads, std::size_t count, std::size_t grain, const Work& work) {
  if (count == 0) return;
  const std::size_t useful = std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1,
                                                     static_cast<std::size_t>(threads));
  if (useful == 1) return work(std::size_t{0}, count);
  const auto ranges = static_cast<int>(useful);
#pragma omp parallel for num_threads(ranges) schedule(static, 1)
  for (int i = 0; i < ranges; ++i) {
    const auto at = static_cast<std::size_t>(i);
    work(count * at / useful, count * (at + 1) / useful);
  }
}

}  // namespace soapstone::cpu
