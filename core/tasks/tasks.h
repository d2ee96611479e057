// Work for several threads, by TBB. The thread sanitizer does not see how TBB hands work over, as
// the library is not built for it; it is told here, and so finds the races within tasks.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstddef>
#include <optional>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace soapstone::core {

/// What the thread sanitizer must know of some tasks: they begin after the handover is made and end
/// before it is destroyed. There is one address for either, lest a task seem to begin after those
/// that happened to be done.
class Handover {
 public:
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;
#if defined(__SANITIZE_THREAD__)
  Handover() { __tsan_release(&begin_); }
  ~Handover() { __tsan_acquire(&end_); }
  void begin_task() { __tsan_acquire(&begin_); }
  void end_task() { __tsan_release(&end_); }

 private:
  char begin_ = 0, end_ = 0;
#else
  Handover() = default;
  void begin_task() {}
  void end_task() {}
#endif
};

/// What TBB calls. It is not instrumented, as it is read before the task is known to have begun.
template <class Work>
struct Task {
  Handover& handover;
  const Work& work;
  template <class... Arguments>
  __attribute__((no_sanitize("thread"))) void operator()(const Arguments&... arguments) const {
    handover.begin_task();
    work(arguments...);
    handover.end_task();
  }
};

/// Calls `work(k)` for k in first … last - 1, in any order.
template <class Work>
void parallel_for(std::size_t first, std::size_t last, const Work& work) {
  Handover handover;
  tbb::parallel_for(first, last, Task<Work>{handover, work});
}

/// The same with a task for each k: some may take much longer than others.
template <class Work>
void parallel_for_uneven(std::size_t first, std::size_t last, const Work& work) {
  Handover handover;
  tbb::parallel_for(first, last, Task<Work>{handover, work}, tbb::simple_partitioner());
}

/// Calls `work(range)` for ranges that cover 0 … count - 1; none is divided that is not longer than
/// `grain`.
template <class Work>
void parallel_for_ranges(std::size_t count, std::size_t grain, const Work& work) {
  Handover handover;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain), Task<Work>{handover, work});
}

/// Calls both, perhaps at the same time.
template <class First, class Second>
void run_both(const First& first, const Second& second) {
  Handover handover;
  tbb::task_group group;
  group.run(Task<First>{handover, first});
  second();
  group.wait();
}

/// A value for each thread that asks for one.
template <class T>
using PerThread = tbb::enumerable_thread_specific<T>;

/// A number of threads, among which the calling one.
class TaskArena {
 public:
  /// As many threads as there are cores if none are asked for.
  explicit TaskArena(int threads) : arena_(threads > 0 ? threads : tbb::task_arena::automatic) {
    if (threads > tbb::info::default_concurrency())
      more_than_cores_.emplace(tbb::global_control::max_allowed_parallelism,
                               static_cast<std::size_t>(threads));
  }

  std::size_t threads() const { return static_cast<std::size_t>(arena_.max_concurrency()); }

  /// Calls `work`; loops in it use these threads.
  template <class Work>
  void run(const Work& work) {
    Handover handover;
    arena_.execute(Task<Work>{handover, work});
  }

  /// See `core::parallel_for`.
  template <class Work>
  void parallel_for(std::size_t first, std::size_t last, const Work& work) {
    run([&] { core::parallel_for(first, last, work); });
  }

 private:
  /// Without leave for more threads than there are cores, TBB warns on stderr and starts fewer.
  std::optional<tbb::global_control> more_than_cores_;
  tbb::task_arena arena_;
};

}  // namespace soapstone::core
