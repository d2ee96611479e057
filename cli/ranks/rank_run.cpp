// See rank_run.h.
#include "cli/ranks/rank_run.h"

#include <unistd.h>

#include <csignal>

#include <fmt/format.h>

namespace soapstone::cli {
namespace {

/// The text that the signal handler writes; it is set once, before the handler.
std::string& last_words() {
  static std::string text;
  return text;
}

/// mpirun's way to say that it was interrupted, or that another rank has died. It waits two
/// seconds.
extern "C" void handle_termination(int) {
  (void)!write(STDERR_FILENO, last_words().data(), last_words().size());
  _exit(128 + SIGTERM);
}

void announce_termination(std::string_view hint) {
  last_words() = "\nerror: mpirun ends the run: it was interrupted, or another rank has died\n";
  if (!hint.empty()) last_words() += fmt::format("hint: {}\n", hint);
  std::signal(SIGTERM, handle_termination);
}

void warn_if_bound(Session& session) {
  const std::size_t cores = parallel::cores_of_process(), all = parallel::cores_of_node();
  if (cores >= all) return;
  session.console.log(core::LogLevel::kWarning,
                      fmt::format("mpirun binds the first rank, which does the last part alone, "
                                  "to {} of {} cores; mpirun --bind-to none does not",
                                  cores, all));
}

}  // namespace

core::Status run_on_ranks(const RankRun& run, Session& session,
                          const std::function<core::Status(const RanksOfCommand&)>& body) {
  if (run.launch.is_alone()) return body({});
  if (run.first_has_more_work) warn_if_bound(session);
  if (run.launch.rank == 0) {
    announce_termination(run.hint);
  } else {
    std::signal(SIGTERM, SIG_DFL);  // mpirun waits two seconds at most
  }
  parallel::MpiOptions options = run.mpi;
  options.on_abort = [](const std::string& reason) {
    std::signal(SIGTERM, SIG_DFL);  // mpirun ends this rank, too, and the reason is said once
    print_error(core::unavailable(reason));
  };
  SOAPSTONE_ASSIGN_OR_RETURN(const auto world, parallel::mpi_world(options));
  parallel::Ranks ranks(*world);
  const core::Status mine = without_exceptions([&] { return body({&ranks, world.get()}); });
  core::Status status = ranks.agree(mine);
  if (ranks.is_broken())
    world->abort(status.error().at(fmt::format("rank {}", ranks.rank())).to_string());
  return status;
}

}  // namespace soapstone::cli
