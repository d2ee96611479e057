// See rank_run.h.
#include "cli/ranks/rank_run.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include <fmt/format.h>

#include "parallel/ranks/mpi.h"

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

/// Whether mpirun ends this rank: another one has the reason then.
std::atomic<bool> is_terminated = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void stop_at_termination(int) {
  is_terminated = true;
  (void)!write(STDERR_FILENO, last_words().data(), last_words().size());
  stop_session();
}

void announce_termination(std::string_view hint) {
  last_words() = "\nerror: mpirun ends the run: it was interrupted, or another rank has died\n";
  if (!hint.empty()) last_words() += fmt::format("hint: {}\n", hint);
  std::signal(SIGTERM, handle_termination);
}

bool is_of_this_rank(const core::Error& error) {
  return error.code == core::ErrorCode::kUnavailable || error.code == core::ErrorCode::kInternal;
}

}  // namespace

core::Status run_on_ranks(const RankRun& run,
                          const std::function<core::Status(parallel::Ranks*)>& body) {
  if (run.launch.is_alone()) return body(nullptr);
  if (run.launch.rank == 0) {
    announce_termination(run.hint);
  }
  if (run.stops) {
    std::signal(SIGTERM, stop_at_termination);
  } else if (run.launch.rank > 0) {
    std::signal(SIGTERM, SIG_DFL);  // mpirun waits two seconds at most
  }
  parallel::MpiOptions options{.waiting = run.waiting, .time_limit = run.time_limit};
  options.on_abort = [](const std::string& reason) {
    std::signal(SIGTERM, SIG_DFL);  // mpirun ends this rank, too, and the reason is said once
    if (!is_terminated) print_error(core::unavailable(reason));
  };
  SOAPSTONE_ASSIGN_OR_RETURN(const auto world, parallel::mpi_world(options));
  parallel::Ranks ranks(*world);
  const core::Status mine = without_exceptions([&] { return body(&ranks); });
  const auto end_all = [&](const core::Error& error) {
    world->abort(error.at(fmt::format("rank {}", ranks.rank())).to_string());
  };
  if (run.has_own_calls && !mine && is_of_this_rank(mine.error())) end_all(mine.error());
  core::Status status = ranks.agree(mine);
  if (ranks.is_broken()) end_all(status.error());
  return status;
}

}  // namespace soapstone::cli
