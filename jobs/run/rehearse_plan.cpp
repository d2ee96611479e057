// See rehearse_plan.h.
#include "jobs/run/rehearse_plan.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "core/base/clock.h"
#include "jobs/base/guard.h"
#include "jobs/run/prepared_rank.h"
#include "parallel/ranks/launch.h"
#include "parallel/running/absent_ranks.h"
#include "parallel/running/foretold_times.h"

namespace soapstone::jobs {
namespace {

using parallel::ComputeStep;
using parallel::RankProgram;

/// Runs that warm up: in the second one memory is new, too, as results of the first are still
/// there.
constexpr std::size_t kUntimedRuns = 2;
constexpr std::size_t kMostTimedRuns = 5;
/// No timed run begins later, but the first two.
constexpr double kMostSeconds = 10;
constexpr std::size_t kFewestTimedRuns = 2;

/// Whether both compute the same, whatever they exchange with whom.
bool are_alike(const RankProgram& a, const RankProgram& b) {
  return std::ranges::equal(
      a.steps, b.steps, [](const parallel::RankStep& x, const parallel::RankStep& y) {
        const auto* const own = std::get_if<ComputeStep>(&x);
        const auto* const other = std::get_if<ComputeStep>(&y);
        if (!own || !other) return x.index() == y.index();
        return own->graph.hash() == other->graph.hash() && same_structure(own->graph, other->graph);
      });
}

/// The computing of one rank.
struct RehearsedRank {
  std::vector<std::vector<double>> compute_us;  ///< By timed run and step of its program.
  double peak_bytes = 0;
};

core::Result<RehearsedRank> rehearse_rank(const PreparedRun& prepared, const DeviceRequest& device,
                                          std::size_t rank, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(PreparedRank own, PreparedRank::make(prepared, device, rank));
  const auto others = parallel::make_absent_ranks(static_cast<int>(rank),
                                                  static_cast<int>(prepared.programs.size()));
  SOAPSTONE_RETURN_IF_ERROR(own.connect(*others));
  RehearsedRank rehearsed;
  const double start_s = core::wall_s();
  for (std::size_t run = 0; run < kUntimedRuns + kMostTimedRuns; ++run) {
    const bool is_late = core::wall_s() - start_s > kMostSeconds;
    if (is_late && run >= kUntimedRuns + kFewestTimedRuns) break;
    if (context.stop.stop_requested())
      return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
    SOAPSTONE_RETURN_IF_ERROR(own.run(static_cast<int>(run)));
    if (run < kUntimedRuns) continue;
    std::vector<double>& compute_us = rehearsed.compute_us.emplace_back();
    for (const parallel::RankStepTime& time : own.runner().times())
      compute_us.push_back(time.end_us - time.start_us);
  }
  rehearsed.peak_bytes = static_cast<double>(own.runner().peak_bytes());
  return rehearsed;
}

class RehearsalJob {
 public:
  RehearsalJob(const PreparedRun& prepared, const DeviceRequest& device, const Context& context)
      : prepared_(prepared), device_(device), context_(context), like_(prepared.programs.size()),
        ranks_(prepared.programs.size()) {}

  core::Result<Rehearsal> run() {
    context_.progress.stage("rehearsing what ranks compute");
    const std::vector<std::size_t> chosen = choose_ranks();
    const std::size_t together = std::min(prepared_.programs.size(), parallel::cores_of_node());
    for (std::size_t first = 0; first < chosen.size(); first += together) {
      const std::size_t count = std::min(together, chosen.size() - first);
      SOAPSTONE_RETURN_IF_ERROR(rehearse_together(std::span(chosen).subspan(first, count)));
    }
    Rehearsal rehearsal;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      rehearsal.peak_bytes.push_back(rehearsed_as(r).peak_bytes);
    SOAPSTONE_ASSIGN_OR_RETURN(rehearsal.figures, foretold_figures());
    return rehearsal;
  }

 private:
  /// Ranks that are unlike all others, and behind them so many that no core is idle meanwhile, as
  /// none is when the plan runs.
  std::vector<std::size_t> choose_ranks() {
    std::vector<std::size_t> chosen, others;
    for (std::size_t r = 0; r < like_.size(); ++r) {
      const auto same = std::ranges::find_if(chosen, [&](std::size_t known) {
        return are_alike(prepared_.programs[known], prepared_.programs[r]);
      });
      like_[r] = same == chosen.end() ? r : *same;
      (same == chosen.end() ? chosen : others).push_back(r);
    }
    const std::size_t cores = parallel::cores_of_node();
    const std::size_t idle = (cores - chosen.size() % cores) % cores;
    others.resize(std::min(idle, others.size()));
    chosen.insert(chosen.end(), others.begin(), others.end());
    return chosen;
  }

  const RehearsedRank& rehearsed_as(std::size_t rank) const {
    return *(ranks_[rank] ? ranks_[rank] : ranks_[like_[rank]]);
  }

  /// Each rank waits for the others as they were in that run. Of the runs, the one is told that a
  /// low quantile is.
  core::Result<parallel::RunFigures> foretold_figures() const {
    std::vector<parallel::RunFigures> runs;
    std::size_t count = kMostTimedRuns;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      count = std::min(count, rehearsed_as(r).compute_us.size());
    for (std::size_t run = 0; run < count; ++run) {
      std::vector<std::vector<double>> compute_us;
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        compute_us.push_back(rehearsed_as(r).compute_us[run]);
      SOAPSTONE_ASSIGN_OR_RETURN(
          const auto times,
          parallel::foretold_times(prepared_.programs, compute_us, prepared_.topology));
      runs.push_back(parallel::figures_of(prepared_.names, prepared_.programs, times));
    }
    std::ranges::sort(runs, {}, &parallel::RunFigures::step_us);
    return runs[static_cast<std::size_t>(kLowQuantile * static_cast<double>(count))];
  }

  core::Status rehearse_together(std::span<const std::size_t> ranks) {
    std::vector<core::Status> statuses(ranks.size(), core::Done{});
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < ranks.size(); ++k)
      threads.emplace_back([&, k] { statuses[k] = rehearse_one(ranks[k]); });
    for (std::thread& thread : threads) thread.join();
    for (const core::Status& status : statuses) SOAPSTONE_RETURN_IF_ERROR(status);
    return core::Done{};
  }

  core::Status rehearse_one(std::size_t rank) {
    const Context own{core::silent(), context_.stop, {}};
    auto rehearsed = guarded(
        own, [&](const Context& inner) { return rehearse_rank(prepared_, device_, rank, inner); });
    if (!rehearsed) return rehearsed.error();
    ranks_[rank] = *std::move(rehearsed);
    return core::Done{};
  }

  const PreparedRun& prepared_;
  const DeviceRequest& device_;
  const Context& context_;
  std::vector<std::size_t> like_;  ///< By rank: the one that is rehearsed in its place.
  std::vector<std::optional<RehearsedRank>> ranks_;
};

}  // namespace

core::Result<Rehearsal> rehearse(const PreparedRun& prepared, const DeviceRequest& device,
                                 const Context& context) {
  return RehearsalJob(prepared, device, context).run();
}

}  // namespace soapstone::jobs
