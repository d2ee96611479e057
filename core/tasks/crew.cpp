// See crew.h.
#include "core/tasks/crew.h"

#include <utility>

#include "core/base/check.h"
#include "core/tasks/tasks.h"

namespace soapstone::core {

Crew::Crew(int threads) {
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : TaskArena(0).threads();
  for (std::size_t k = 1; k < wanted; ++k) threads_.emplace_back([this] { run(); });
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run() {
  Lock lock(mutex_);
  while (!ends_) {
    if (next_ < count_) {
      take_next(lock);
    } else if (may_idle()) {
      idle(lock);
    } else {
      changed_.wait(lock);
    }
  }
}

void Crew::take_next(Lock& lock) {
  const std::size_t k = next_++;
  std::exception_ptr error;
  lock.unlock();
  try {
    (*work_)(k);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  ++done_;
  if (error && !error_) {
    error_ = error;
    done_ += count_ - next_;
    next_ = count_;
  }
  if (done_ == count_) changed_.notify_all();
}

void Crew::each(std::size_t count, const std::function<void(std::size_t)>& work) {
  Lock lock(mutex_);
  CHECK(work_ == nullptr, "a loop of a crew within another one");
  work_ = &work;
  next_ = done_ = 0;
  count_ = count;
  changed_.notify_all();
  while (next_ < count_) take_next(lock);
  while (done_ < count_) {
    if (may_idle()) {
      idle(lock);
    } else {
      changed_.wait(lock);
    }
  }
  work_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Crew::idle(Lock& lock) {
  const std::uint64_t seen = wakes_;
  ++idling_;
  lock.unlock();
  const bool more = idle_();
  lock.lock();
  --idling_;
  if (!more && seen == wakes_) is_awake_ = false;
  changed_.notify_all();
}

void Crew::when_idle(std::function<bool()> work) {
  rest();
  const std::lock_guard lock(mutex_);
  idle_ = std::move(work);
}

void Crew::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_awake_ = true;
    ++wakes_;
  }
  changed_.notify_all();
}

void Crew::rest() {
  Lock lock(mutex_);
  rests_ = true;
  changed_.wait(lock, [&] { return idling_ == 0; });
  idle_ = nullptr;
  rests_ = false;
}

}  // namespace soapstone::core
