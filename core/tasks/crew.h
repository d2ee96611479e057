// Threads of TBB that share loops, and that do what will be needed later while there is nothing
// else.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/tasks/tasks.h"

namespace soapstone::core {

/// each(), when_idle() and rest() are for the thread that made it; wake() for all.
class Crew {
 public:
  /// The calling thread is one of them. As many as there are cores if none are asked for.
  explicit Crew(int threads);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  std::size_t threads() const { return arena_.threads(); }

  /// Calls `work(k)` for k in 0 … count - 1, which are begun in that order, and returns when all
  /// are done. Throws what one of them threw; the rest is left out then. Not nested.
  void each(std::size_t count, const std::function<void(std::size_t)>& work);

  /// From now on threads without anything to do call `work` until it returns false, and again after
  /// wake(). It must not throw; several threads call it at once.
  void when_idle(std::function<bool()> work);
  void wake();
  /// Ends that; waits for the calls that have begun.
  void rest();

 private:
  struct Idle;

  TaskArena arena_;
  std::shared_ptr<Idle> idle_;  ///< Shared with tasks that may begin when nobody waits for them.
};

}  // namespace soapstone::core
