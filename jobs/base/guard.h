// What a job does with exceptions: lack of memory or of threads becomes an Error, wherever it was
// thrown; all others pass through. Our own code throws none, so these are those of functions that
// the caller gave. What is half written when one passes has no name yet (core/base/file_io.h).
#pragma once

#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "jobs/base/context.h"

namespace soapstone::jobs {

/// kUnavailable if the exception says that memory or threads ran out: std::bad_alloc,
/// std::length_error, or std::system_error with such a code. None for others. `stage`: what was
/// being done; may be empty.
std::optional<core::Error> lack_of_memory(const std::exception& exception,
                                          const std::string& stage);

/// Remembers the stage for a message.
class StageKeeper final : public core::ProgressSink {
 public:
  explicit StageKeeper(core::ProgressSink& next) : next_(next) {}
  void stage(std::string_view name) override;
  void update(std::uint64_t done, std::uint64_t total, std::string_view note) override {
    next_.update(done, total, note);
  }
  void log(core::LogLevel level, std::string_view message) override { next_.log(level, message); }
  std::string current() const;

 private:
  core::ProgressSink& next_;
  mutable std::mutex mutex_;
  std::string current_;
};

/// The Result of `body`, which gets a context that leads to the same caller.
template <class F>
auto guarded(const Context& context, F&& body) -> decltype(body(context)) {
  StageKeeper stages(context.progress);
  try {
    return body(Context{stages, context.stop, context.keep_results});
  } catch (const std::exception& exception) {
    if (auto error = lack_of_memory(exception, stages.current())) return *std::move(error);
    throw;
  }
}

}  // namespace soapstone::jobs
