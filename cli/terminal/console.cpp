// Composes and redraws the progress line. A terminal is redrawn ten times a second at most, a log
// gets a line every five seconds.
#include "cli/terminal/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kRedrawTerminal = 100ms;
constexpr auto kRedrawLog = 5s;
constexpr int kBarWidth = 20;

bool stderr_is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(std::uint64_t done, std::uint64_t total) {
  const auto filled = static_cast<int>(kBarWidth * std::min(done, total) / total);
  return fmt::format("[{:#<{}}{:.<{}}]", "", filled, "", kBarWidth - filled);
}

std::string_view prefix(core::LogLevel level) {
  switch (level) {
  case core::LogLevel::kError:
    return "error: ";
  case core::LogLevel::kWarning:
    return "warning: ";
  case core::LogLevel::kInfo:
    return "";
  case core::LogLevel::kDebug:
    return "debug: ";
  }
  return "";
}

}  // namespace

Console::Console(Verbosity verbosity)
    : Console(verbosity, stderr, stderr_is_terminal(), terminal_width(), &Clock::now) {}

Console::Console(Verbosity verbosity, std::FILE* out, bool is_terminal, int width,
                 Clock::time_point (*now)())
    : verbosity_(verbosity), out_(out), is_terminal_(is_terminal), width_(width), now_(now),
      stage_start_(now()), last_shown_(now()) {}

Console::~Console() { finish(); }

void Console::stage(std::string_view name) {
  const std::lock_guard lock(mutex_);
  stage_ = name;
  note_.clear();
  done_ = total_ = 0;
  stage_start_ = now_();
  if (verbosity_ != Verbosity::kQuiet) show(stage_start_);
}

void Console::update(std::uint64_t done, std::uint64_t total, std::string_view note) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
  note_ = note;
  const Clock::time_point now = now_();
  const Clock::duration redraw = is_terminal_ ? Clock::duration(kRedrawTerminal) : kRedrawLog;
  if (verbosity_ != Verbosity::kQuiet && now - last_shown_ >= redraw) show(now);
}

void Console::log(core::LogLevel level, std::string_view message) {
  if (verbosity_ == Verbosity::kQuiet && level != core::LogLevel::kError) return;
  if (verbosity_ != Verbosity::kDebug && level == core::LogLevel::kDebug) return;
  const std::lock_guard lock(mutex_);
  const bool redraw = line_is_shown_;
  clear_line();
  fmt::print(out_, "{}{}\n", prefix(level), message);
  if (redraw) show(now_());
}

std::string Console::current_stage() {
  const std::lock_guard lock(mutex_);
  return stage_;
}

void Console::write_stage(int descriptor) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || stage_.empty()) return;
  (void)!::write(descriptor, " while ", 7);
  (void)!::write(descriptor, stage_.data(), stage_.size());
}

void Console::finish() {
  const std::lock_guard lock(mutex_);
  clear_line();
  stage_.clear();
  std::fflush(out_);
}

std::string Console::progress_line(Clock::time_point now) const {
  std::string line = stage_;
  if (done_ > 0) {
    const bool bounded = total_ > 0;
    if (bounded && is_terminal_) line += " " + bar(done_, total_);
    line += " " + grouped(done_);
    if (bounded) line += fmt::format(" of {}", grouped(total_));
    const double seconds = std::chrono::duration<double>(now - stage_start_).count();
    if (seconds > 1) line += fmt::format(", {:.3g}/s", static_cast<double>(done_) / seconds);
  }
  if (!note_.empty()) line += ", " + note_;
  return line;
}

void Console::show(Clock::time_point now) {
  last_shown_ = now;
  if (stage_.empty()) return;
  if (is_terminal_) {
    fmt::print(out_, "\r{}\x1b[K", cut_to_width(progress_line(now), width_ - 1));
    line_is_shown_ = true;
  } else {
    fmt::print(out_, "{}\n", progress_line(now));
  }
  std::fflush(out_);
}

void Console::clear_line() {
  if (line_is_shown_) fmt::print(out_, "\r\x1b[K");
  line_is_shown_ = false;
}

}  // namespace soapstone::cli
