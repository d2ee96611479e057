// Threads that share loops, and that do what will be needed later while there is nothing else.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace soapstone::core {

/// each(), when_idle(), wake() and rest() are for the thread that made it; wake() for all.
class Crew {
 public:
  /// The calling thread is one of them. As many as there are cores if none are asked for.
  explicit Crew(int threads);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  std::size_t threads() const { return threads_.size() + 1; }

  /// Calls `work(k)` for k in 0 … count - 1, which are begun in that order, and returns when all
  /// are done. Throws what the first of them threw; the rest is left out then. Not nested.
  void each(std::size_t count, const std::function<void(std::size_t)>& work);

  /// From now on threads without anything to do call `work` until it returns false, and again after
  /// wake(). It must not throw; several threads call it at once.
  void when_idle(std::function<bool()> work);
  void wake();
  /// Ends that; waits for the calls that have begun.
  void rest();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void run();
  void take_next(Lock& lock);
  bool may_idle() const { return idle_ && is_awake_ && !rests_; }
  void idle(Lock& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  // The loop:
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t next_ = 0, count_ = 0, done_ = 0;
  std::exception_ptr error_;
  // What is done without one:
  std::function<bool()> idle_;
  bool is_awake_ = false, rests_ = false;
  std::uint64_t wakes_ = 0;
  std::size_t idling_ = 0;  ///< Calls that have begun.
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace soapstone::core
