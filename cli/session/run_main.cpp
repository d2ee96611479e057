// See run_main.h.
#include "cli/session/run_main.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/reports/error_json.h"
#include "core/base/file_io.h"
#include "core/base/memory_limit.h"
#include "jobs/base/guard.h"

namespace soapstone::cli {
namespace {

/// The signal handler finds the token here, as handlers take no arguments.
std::atomic<core::StopToken*> interrupted_token = nullptr;
static_assert(std::atomic<core::StopToken*>::is_always_lock_free);

/// Whether what was found so far is worth waiting for.
std::atomic<bool> has_results = false;

/// For stages that do not look at the token: nothing is lost, since outputs that are not finished
/// have no name yet.
extern "C" void handle_alarm(int) {
  if (!has_results.load()) _exit(130);
}

extern "C" void handle_interrupt(int) {
  core::StopToken* const token = interrupted_token.load();
  if (!token || token->stop_requested()) _exit(130);
  token->request_stop();
  constexpr unsigned kPatienceS = 3;
  alarm(kPatienceS);
  constexpr std::string_view kMessage = "\ninterrupted: finishing; press Ctrl-C again to end now\n";
  (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
}

/// Turns Ctrl-C and SIGTERM into a request while it lives. Afterwards, when all is written and the
/// exit code is settled, both come too late and are ignored. A file that grows beyond what the
/// system allows is an error of the write, not the end of the process.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted_token = &token_;
    std::signal(SIGINT, handle_interrupt);
    std::signal(SIGTERM, handle_interrupt);
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGALRM, handle_alarm);
    has_results = false;
  }
  ~InterruptGuard() {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGALRM, SIG_IGN);
    interrupted_token = nullptr;
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  const core::StopToken& token() const { return token_; }

 private:
  core::StopToken token_;
};

/// The terminate handler asks this console which stage was running.
std::atomic<Console*> console_in_use = nullptr;

void say(std::string_view text) noexcept { (void)!write(STDERR_FILENO, text.data(), text.size()); }

/// An exception that leaves a thread, or a function that may throw none: mostly there is no memory
/// left. Nothing may be allocated here, and nothing half-written stays: what is not committed has
/// no name.
[[noreturn]] void handle_terminate() noexcept {
  auto code = core::ErrorCode::kInternal;
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
    say("\nerror: unexpected end");
  } catch (const std::bad_alloc&) {
    code = core::ErrorCode::kUnavailable;
    say("\nerror: out of memory");
  } catch (const std::length_error&) {
    code = core::ErrorCode::kUnavailable;
    say("\nerror: out of memory");
  } catch (const std::exception& exception) {
    say("\nerror: unexpected: ");
    say(exception.what());
  } catch (...) {
    say("\nerror: unexpected exception");
  }
  if (Console* const console = console_in_use.load()) console->write_stage(STDERR_FILENO);
  say(code == core::ErrorCode::kUnavailable
          ? "\nhint: --max-memory GIB allows more; else use a smaller model or another machine\n"
          : "\nhint: this is a fault of soapstone: please report it with the model\n");
  _exit(static_cast<int>(code));
}

class TerminateGuard {
 public:
  explicit TerminateGuard(Console& console) : before_(std::set_terminate(handle_terminate)) {
    console_in_use = &console;
  }
  ~TerminateGuard() {
    console_in_use = nullptr;
    std::set_terminate(before_);
  }
  TerminateGuard(const TerminateGuard&) = delete;
  TerminateGuard& operator=(const TerminateGuard&) = delete;

 private:
  std::terminate_handler before_;
};

}  // namespace

void stop_session() {
  if (core::StopToken* const token = interrupted_token.load()) token->request_stop();
}

void print_error(const core::Error& error) {
  std::fflush(stdout);
  const std::string where = error.where.empty() ? "" : error.where + ": ";
  fmt::print(stderr, "error: {}{}\n", where, error.message);
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
}

core::Status without_exceptions(const std::function<core::Status()>& body, Console* console) {
  using core::ErrorCode;
  try {
    return body();
  } catch (const std::exception& exception) {
    const std::string stage = console == nullptr ? "" : console->current_stage();
    if (auto error = jobs::lack_of_memory(exception, stage)) return *std::move(error);
    if (dynamic_cast<const std::system_error*>(&exception) != nullptr)
      return core::unavailable(exception.what());
    return core::Error{ErrorCode::kInternal,
                       fmt::format("unexpected: {}", exception.what()),
                       {},
                       "this is a fault of soapstone: please report it with the model"};
  }
}

core::Status Session::report(const std::string& text, const std::string& json) {
  console.finish();
  has_reported_ = true;
  if (options_.is_silent) return core::Done{};
  const bool to_stdout = options_.json == "-";
  const std::string& shown = to_stdout ? json : text;
  // run_main flushes, and reports an error of writing then.
  (void)!std::fwrite(shown.data(), 1, shown.size(), stdout);
  if (options_.json.empty() || to_stdout) return core::Done{};
  return core::write_file(options_.json, json);
}

jobs::Context Session::context() const {
  return {console, stop_, [] { has_results = true; }};
}

int run_main(int argc, const char* const* argv, CommandLine& line, const CommonOptions& options,
             const std::function<core::Status(Session&)>& body) {
  const InterruptGuard interrupt;
  const auto parsed = line.parse(argc, argv, !options.is_silent);
  if (!parsed && !options.is_silent) {
    print_error(parsed.error());
    return static_cast<int>(parsed.error().code);
  }
  if (!parsed || !*parsed) return 0;
  core::limit_memory(options.max_memory_bytes());
  Console console(options.verbosity());
  const TerminateGuard terminate(console);
  Session session(console, interrupt.token(), options);
  core::Status status = line.check_files();
  // --json may name a file that must not be overwritten, not even with the error.
  const bool is_clash = !status && status.error().code == core::ErrorCode::kUsage;
  if (status) status = without_exceptions([&] { return body(session); }, &console);
  console.finish();
  if (status && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    status = core::unavailable("cannot write to standard output", "is the disk full?");
  }
  if (status || options.is_silent) return 0;
  core::Error error = status.error();
  error.message = line.with_options(error.message);
  error.hint = line.with_options(error.hint);
  print_error(error);
  if (!session.has_reported() && !options.json.empty() && (!is_clash || options.json == "-")) {
    (void)session.report("", error_json(error));  // the first error is the one that counts
  }
  return static_cast<int>(error.code);
}

}  // namespace soapstone::cli
