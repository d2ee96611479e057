// What surrounds every command: parsing, Ctrl-C, the limit on memory, and errors turned into
// messages and exit codes.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/common_options.h"
#include "cli/console.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace soapstone::cli {

/// Indented; what is not UTF-8 in it (names of tensors may be anything) is replaced.
std::string json_text(const nlohmann::ordered_json& json);

/// What a command works with.
class Session {
 public:
  Session(Console& progress, const core::StopToken& interrupted, const CommonOptions& common)
      : console(progress), stop(interrupted), options_(common) {}

  Console& console;             ///< Also the library's progress sink.
  const core::StopToken& stop;  ///< Set by the first Ctrl-C; a second one ends the process.

  /// Ends the progress display and prints the text; or writes `json` to stdout, or to a file
  /// besides, as --json says. Errors: kInvalidInput if the file cannot be written.
  core::Status report(const std::string& text, const std::string& json);
  core::Status report(const std::string& text, const nlohmann::ordered_json& json);
  bool has_reported() const { return has_reported_; }

  /// From now on there is something to lose: however long it takes, what was found is finished and
  /// written after Ctrl-C. Until then the process ends by itself a few seconds after it.
  void keep_results();

  /// kInterrupted once Ctrl-C was pressed.
  core::Status check_interrupt() const;

 private:
  const CommonOptions& options_;
  bool has_reported_ = false;
};

/// `error: where: message` and, on a line of its own, `hint: …`, to stderr.
void print_error(const core::Error& error);

/// The body's own Status; an exception as an Error. `console`: knows what was being done; may be
/// null. Errors: kUnavailable if memory runs out, else kInternal.
core::Status without_exceptions(const std::function<core::Status()>& body,
                                Console* console = nullptr);

/// Parses, runs `body`, and returns the exit code: 0, or the code of the Error, which is printed as
/// `error: where: message` and, on a line of its own, `hint: …`. With --json the error is written
/// there, unless there is a report already. Wrong usage is 2, --help and --version are 0; an
/// unexpected exception is 1. Sets --max-memory. Ctrl-C and SIGTERM stop the session; once the
/// body has ended they are ignored, so the process should end then. Precondition: `options` is
/// bound to `app`.
int run_main(int argc, const char* const* argv, CLI::App& app, const CommonOptions& options,
             const std::function<core::Status(Session&)>& body);

}  // namespace soapstone::cli
