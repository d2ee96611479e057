// Progress and messages on a terminal or in a log: the sink that every command gives to the
// library. Everything goes to stderr, so that stdout holds results alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include "core/base/progress.h"

namespace soapstone::cli {

enum class Verbosity : std::uint8_t { kQuiet, kNormal, kDebug };

/// On a terminal one line that is rewritten: stage, bar, rate, note. Elsewhere a line when a stage
/// begins and every few seconds. Quiet: errors alone. Safe from several threads.
class Console final : public core::ProgressSink {
 public:
  using Clock = std::chrono::steady_clock;

  /// For stderr.
  explicit Console(Verbosity verbosity);
  /// For tests. `width`: columns of the terminal; `now`: reads the time.
  Console(Verbosity verbosity, std::FILE* out, bool is_terminal, int width,
          Clock::time_point (*now)());
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void stage(std::string_view name) override;
  void update(std::uint64_t done, std::uint64_t total, std::string_view note) override;
  void log(core::LogLevel level, std::string_view message) override;

  std::string current_stage();
  /// Writes `while STAGE` to a file descriptor; nothing outside of stages. Neither allocates nor
  /// waits, for the moment when there is no memory left.
  void write_stage(int descriptor) noexcept;

  /// Ends the stage and takes the progress line away.
  void finish();

 private:
  // The caller holds the mutex.
  std::string progress_line(Clock::time_point now) const;
  void show(Clock::time_point now);
  void clear_line();

  const Verbosity verbosity_;
  std::FILE* const out_;
  const bool is_terminal_;
  const int width_;
  Clock::time_point (*const now_)();

  std::mutex mutex_;
  std::string stage_, note_;
  std::uint64_t done_ = 0, total_ = 0;
  Clock::time_point stage_start_, last_shown_;
  bool line_is_shown_ = false;
};

}  // namespace soapstone::cli
