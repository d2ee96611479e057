// See crew.h.
#include "core/tasks/crew.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace soapstone::core {

/// What is done without a loop. Thread-safe.
struct Crew::Idle {
  explicit Idle(std::size_t threads)
      : arena(std::max(2, static_cast<int>(threads)), 1, tbb::task_arena::priority::low) {}

  tbb::task_arena arena;  ///< Its tasks wait until those of loops leave a thread.
  std::mutex mutex;
  std::condition_variable changed;
  std::function<bool()> work;  ///< None: the crew rests.
  std::size_t calls = 0;       ///< That have begun.

  /// False: there is nothing to do.
  bool call() {
    std::function<bool()> begun;
    {
      const std::lock_guard lock(mutex);
      if (!work) return false;
      begun = work;
      ++calls;
    }
    const bool more = begun();
    {
      const std::lock_guard lock(mutex);
      --calls;
    }
    changed.notify_all();
    return more;
  }

  void set(std::function<bool()> next) {
    std::unique_lock lock(mutex);
    work = nullptr;
    changed.wait(lock, [&] { return calls == 0; });
    work = std::move(next);
  }
};

Crew::Crew(int threads) : arena_(threads), idle_(std::make_shared<Idle>(arena_.threads())) {}

Crew::~Crew() { rest(); }

void Crew::each(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0, under_way = 0;
  const auto take_all = [&] {
    try {
      for (;;) {
        ++under_way;
        const std::size_t k = next++;
        if (k < count) work(k);
        --under_way;
        if (k >= count) return;
      }
    } catch (...) {
      next = count;
      --under_way;
      throw;
    }
  };
  Handover handover;
  arena_.run([&] {
    tbb::task_group group;
    for (std::size_t k = 1; k < std::min(threads(), count); ++k)
      group.run(Task<decltype(take_all)>{handover, take_all});
    try {
      take_all();
    } catch (...) {
      group.cancel();
      group.wait();
      throw;
    }
    while (under_way > 0 && idle_->call()) continue;
    group.wait();
  });
}

void Crew::when_idle(std::function<bool()> work) { idle_->set(std::move(work)); }

void Crew::wake() {
  for (std::size_t k = 1; k < threads(); ++k) {
    // One call a task, so that a thread goes to a loop as soon as there is one.
    struct Again {
      std::shared_ptr<Idle> idle;
      void operator()() const {
        if (idle->call()) idle->arena.enqueue(*this);
      }
    };
    idle_->arena.enqueue(Again{idle_});
  }
}

void Crew::rest() { idle_->set(nullptr); }

}  // namespace soapstone::core
