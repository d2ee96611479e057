// Progress and stop tokens: long work reports to a sink how far it is, and looks at a token that
// tells it to stop. The library prints nothing itself: a front end owns the sink.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace soapstone::core {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// Calls may come from any thread; an implementation serializes them.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  /// A named part of the work begins: "importing", "searching".
  virtual void stage(std::string_view name) = 0;
  /// `done` of `total` (0: unknown) of the current stage, with a short note such as the best gain.
  virtual void update(std::uint64_t done, std::uint64_t total, std::string_view note) = 0;
  virtual void log(LogLevel level, std::string_view message) = 0;
};

/// Ignores everything.
ProgressSink& silent();

/// Set by a signal handler or another thread; long work looks at it and ends with its best so far.
class StopToken {
 public:
  StopToken() = default;
  /// Stops when `outer`, which must outlive it, does, or by itself.
  explicit StopToken(const StopToken* outer) : outer_(outer) {}
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stop_requested() const {
    return stop_.load(std::memory_order_relaxed) || (outer_ && outer_->stop_requested());
  }

 private:
  std::atomic<bool> stop_{false};
  const StopToken* outer_ = nullptr;
};

}  // namespace soapstone::core
