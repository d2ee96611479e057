// How many threads a kernel uses. oneDNN (as Debian builds it) and our own loops both run on
// OpenMP, whose thread count belongs to the calling thread.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

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
  const auto work_on = [&](std::size_t range) {
    work(count * range / useful, count * (range + 1) / useful);
  };
#if defined(__SANITIZE_THREAD__)  // The sanitizer does not see the barriers of OpenMP.
  std::vector<std::jthread> threads_of_ranges;
  for (std::size_t range = 0; range < useful; ++range)
    threads_of_ranges.emplace_back(work_on, range);
#else
  const auto ranges = static_cast<int>(useful);
#pragma omp parallel for num_threads(ranges) schedule(static, 1)
  for (int range = 0; range < ranges; ++range) work_on(static_cast<std::size_t>(range));
#endif
}

}  // namespace soapstone::cpu
