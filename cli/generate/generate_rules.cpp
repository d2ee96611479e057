// generate-rules: finds all equalities between small graphs of the given operators, keeps those
// that the others do not imply, proves them for all sizes, and writes them as a rule file.
#include <fmt/format.h>

#include "cli/generate/generate_options.h"
#include "cli/generate/generate_report.h"
#include "cli/ranks/rank_run.h"
#include "cli/session/run_main.h"
#include "jobs/generate/generate.h"

namespace {

using namespace soapstone;

core::Status generate(const cli::CommandLine& line, const cli::GenerateOptions& options,
                      cli::Session& session, parallel::Ranks* ranks) {
  SOAPSTONE_ASSIGN_OR_RETURN(jobs::GenerateRequest request, cli::request_of(line, options));
  request.processes = ranks;
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::GenerateOutcome outcome,
                             jobs::generate(request, session.context()));
  if (request.is_assistant()) return core::Done{};
  SOAPSTONE_RETURN_IF_ERROR(session.report(cli::generate_text(request, outcome, options.quiet),
                                           cli::generate_json(outcome)));
  if (outcome.finished) return core::Done{};
  return core::Error{core::ErrorCode::kInterrupted,
                     fmt::format("interrupted; {} has what was kept till then", request.output),
                     {},
                     {}};
}

void warn_if_bound(cli::Session& session) {
  const std::size_t cores = parallel::cores_of_process(), all = parallel::cores_of_node();
  if (cores >= all) return;
  session.console.log(core::LogLevel::kWarning,
                      fmt::format("mpirun binds the first rank, which does the last part alone, "
                                  "to {} of {} cores; mpirun --bind-to none does not",
                                  cores, all));
}

core::Status generate_as_rank(const cli::CommandLine& line, const cli::GenerateOptions& options,
                              cli::Session& session) {
  const std::string& resume = options.request.resume;
  const std::string hint = resume.empty()
                               ? "--resume DIR keeps what is finished"
                               : fmt::format("the same command goes on from '{}'", resume);
  // Ranks wait asleep for a first one that may work for hours: there may be more ranks than cores.
  const cli::RankRun run{options.request.launch, hint, parallel::Waiting::kSleep, std::nullopt};
  if (!run.launch.is_alone()) warn_if_bound(session);
  return cli::run_on_ranks(
      run, [&](parallel::Ranks* ranks) { return generate(line, options, session, ranks); });
}

}  // namespace

int main(int argc, char** argv) {
  cli::GenerateOptions options;
  options.request.launch = parallel::launch_of_environment();
  options.is_silent = options.request.is_assistant();
  cli::CommandLine line(
      "generate-rules",
      "Finds rewrite rules: all equalities between small graphs, less those that others imply, "
      "each proved for all sizes. What is not proved is listed and not written.");
  cli::add_generate_options(line, options);
  return cli::run_main(argc, argv, line, options, [&](cli::Session& session) {
    return generate_as_rank(line, options, session);
  });
}
