// See run_main.h.
#include "cli/run_main.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <new>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/suggestion.h"

namespace soapstone::cli {
namespace {

/// Where the signal handler finds the token: handlers take no arguments.
std::atomic<core::StopToken*> interrupted_token = nullptr;
static_assert(std::atomic<core::StopToken*>::is_always_lock_free);

extern "C" void handle_interrupt(int) {
  core::StopToken* const token = interrupted_token.load();
  if (!token || token->stop_requested()) _exit(130);
  token->request_stop();
  constexpr std::string_view kMessage = "\ninterrupted: finishing; press Ctrl-C again to end now\n";
  (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
}

/// Turns Ctrl-C into a request while it lives.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted_token = &token_;
    std::signal(SIGINT, handle_interrupt);
  }
  ~InterruptGuard() {
    std::signal(SIGINT, SIG_DFL);
    interrupted_token = nullptr;
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  const core::StopToken& token() const { return token_; }

 private:
  core::StopToken token_;
};

core::Status write_json(const std::string& path, const std::string& json) {
  std::ofstream file(path, std::ios::binary);
  if (file << json << std::flush) return core::Done{};
  return core::invalid_input("the JSON report cannot be written",
                             "choose a file in a writable folder")
      .at(path);
}

std::string error_json(const core::Error& error) {
  const nlohmann::ordered_json details = {{"code", static_cast<int>(error.code)},
                                          {"where", error.where},
                                          {"message", error.message},
                                          {"hint", error.hint}};
  return json_text({{"error", details}});
}

int parse_failure(CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help, --version
    app.exit(error);
    return 0;
  }
  std::string hint = suggest_option(app);
  if (hint.empty()) hint = fmt::format("{} --help lists the options", app.get_name());
  const std::string surplus = surplus_argument(app);
  const std::string message =
      surplus.empty()
          ? std::string(error.what())
          : fmt::format("there is no {} {}",
                        surplus.starts_with('-') ? "option" : "place for the argument", surplus);
  print_error({core::ErrorCode::kUsage, message, {}, hint});
  return static_cast<int>(core::ErrorCode::kUsage);
}

}  // namespace

void print_error(const core::Error& error) {
  std::fflush(stdout);
  const std::string where = error.where.empty() ? "" : error.where + ": ";
  fmt::print(stderr, "error: {}{}\n", where, error.message);
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
}

core::Status without_exceptions(const std::function<core::Status()>& body) {
  using core::ErrorCode;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return core::Error{ErrorCode::kInternal,
                       "out of memory",
                       {},
                       "use a smaller batch or a machine with more memory"};
  } catch (const std::exception& exception) {
    return core::Error{ErrorCode::kInternal,
                       fmt::format("unexpected: {}", exception.what()),
                       {},
                       "this is a fault of soapstone: please report it with the model"};
  }
}

std::string json_text(const nlohmann::ordered_json& json) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  return json.dump(2, ' ', false, Handler::replace) + "\n";
}

core::Status Session::report(const std::string& text, const std::string& json) {
  console.finish();
  has_reported_ = true;
  if (options_.is_silent) return core::Done{};
  const bool to_stdout = options_.json == "-";
  fmt::print("{}", to_stdout ? json : text);
  if (options_.json.empty() || to_stdout) return core::Done{};
  return write_json(options_.json, json);
}

core::Status Session::report(const std::string& text, const nlohmann::ordered_json& json) {
  return report(text, json_text(json));
}

core::Status Session::check_interrupt() const {
  if (!stop.stop_requested()) return core::Done{};
  return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
}

int run_main(int argc, const char* const* argv, CLI::App& app, const CommonOptions& options,
             const std::function<core::Status(Session&)>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (options.is_silent) return 0;
    return parse_failure(app, error);
  }
  const InterruptGuard interrupt;
  Console console(options.verbosity());
  Session session(console, interrupt.token(), options);
  core::Status status = without_exceptions([&] { return body(session); });
  console.finish();
  if (status && std::fflush(stdout) != 0) {
    status = core::Error{core::ErrorCode::kInternal, "cannot write to standard output", {}, {}};
  }
  if (status || options.is_silent) return 0;
  print_error(status.error());
  if (!session.has_reported() && !options.json.empty()) {
    (void)session.report("", error_json(status.error()));  // the first error is the one that counts
  }
  return static_cast<int>(status.error().code);
}

}  // namespace soapstone::cli
