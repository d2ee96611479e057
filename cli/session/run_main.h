// Runs the body of a command: parses before it, handles Ctrl-C and the limit on memory, and turns
// errors into messages and exit codes.
#pragma once

#include <functional>
#include <string>

#include "cli/options/common_options.h"
#include "cli/terminal/console.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "jobs/base/context.h"

namespace soapstone::cli {

/// A command that runs: its progress, its report, and the wish to stop it.
class Session {
 public:
  Session(Console& progress, const core::StopToken& interrupted, const CommonOptions& common)
      : console(progress), stop_(interrupted), options_(common) {}

  Console& console;  ///< Also the progress sink of jobs.

  /// Ends the progress display and prints the text; or writes `json` to stdout, or to a file
  /// besides, as --json says. Errors: kInvalidInput if the file cannot be written.
  core::Status report(const std::string& text, const std::string& json);
  bool has_reported() const { return has_reported_; }

  /// The context for a job: progress on the console, Ctrl-C as the wish to stop. Once a job has
  /// results to keep, it may finish and write them after Ctrl-C, however long that takes. Until
  /// then the process ends by itself a few seconds after it.
  jobs::Context context() const;

 private:
  const core::StopToken& stop_;  ///< Set by the first Ctrl-C; a second one ends the process.
  const CommonOptions& options_;
  bool has_reported_ = false;
};

/// `error: where: message` and, on a line of its own, `hint: …`, to stderr.
void print_error(const core::Error& error);

/// Stops the session as Ctrl-C does, but says nothing. For signal handlers.
void stop_session();

/// The body's own Status; an exception as an Error. `console`: knows what was being done; may be
/// null. Errors: kUnavailable if memory runs out, else kInternal.
core::Status without_exceptions(const std::function<core::Status()>& body,
                                Console* console = nullptr);

/// Parses, looks at the files that options name (CommandLine::check_files()), runs `body`, and
/// returns the exit code: 0, or the code of the Error, which is printed as `error: where: message`
/// and, on a line of its own, `hint: …`. With --json the error is written there, unless there is a
/// report already. Wrong usage is 2, --help and --version are 0; an unexpected exception is 1. Sets
/// --max-memory. Ctrl-C and SIGTERM stop the session; once the body has ended they are ignored, so
/// the process should end then. Precondition: `options` is bound to `line`.
int run_main(int argc, const char* const* argv, CommandLine& line, const CommonOptions& options,
             const std::function<core::Status(Session&)>& body);

}  // namespace soapstone::cli
