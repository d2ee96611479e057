// measure-links: times messages, collective operations and computing side by side on this machine,
// and writes them as a topology.
#include <chrono>

#include "cli/links/links_options.h"
#include "cli/ranks/rank_run.h"
#include "cli/session/run_main.h"
#include "core/base/file_io.h"
#include "parallel/topology/topology_json.h"

namespace {

using namespace soapstone;

core::Status check(const cli::LinksOptions& options) {
  if (options.launch.is_alone() && !options.virtual_ranks)
    return core::Error{core::ErrorCode::kUsage,
                       "links are between ranks, and this is one process",
                       {},
                       "mpirun -n 2 measure-links starts two; --virtual 2 measures threads"};
  if (!options.launch.is_alone() && options.virtual_ranks)
    return core::Error{core::ErrorCode::kUsage,
                       "--virtual measures threads of one process",
                       {},
                       "leave out mpirun, or --virtual"};
  return core::Done{};
}

core::Status report(const cli::LinksOptions& options, const jobs::LinkOutcome& outcome,
                    cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::Topology topology,
                             jobs::topology_of(outcome, options.launch));
  if (options.launch.rank > 0) return core::Done{};
  SOAPSTONE_RETURN_IF_ERROR(core::write_file(options.output, parallel::topology_to_json(topology)));
  return session.report(cli::links_text(outcome, options.output),
                        cli::links_json(outcome, options.output));
}

core::Status measure(const cli::LinksOptions& options, cli::Session& session) {
  SOAPSTONE_RETURN_IF_ERROR(check(options));
  cli::RankRun run{options.launch, "what was measured is lost; start it again"};
  run.waiting = parallel::Waiting::kSpin;
  run.time_limit = std::chrono::seconds(60);
  run.has_own_calls = true;
  return cli::run_on_ranks(run, [&](parallel::Ranks* ranks) -> core::Status {
    jobs::LinkRequest request = options.request;
    request.ranks = static_cast<int>(options.virtual_ranks.value_or(0));
    SOAPSTONE_ASSIGN_OR_RETURN(
        const jobs::LinkOutcome outcome,
        ranks == nullptr ? jobs::measure_virtual_links(request, session.context())
                         : jobs::measure_links(request, ranks->collectives(), session.context()));
    return report(options, outcome, session);
  });
}

}  // namespace

int main(int argc, char** argv) {
  cli::LinksOptions options;
  options.launch = parallel::launch_of_environment();
  options.is_silent = options.launch.rank > 0;
  cli::CommandLine line("measure-links",
                        "Times messages and collective operations between ranks of this machine, "
                        "and computing beside each other, and writes a topology for plan-graph.");
  cli::add_links_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return measure(options, session); });
}
