// See rank_job.h.
#include "jobs/run/rank_job.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cost/timing/statistics.h"
#include "jobs/base/guard.h"
#include "jobs/run/checkpoint.h"
#include "jobs/run/gathered_pieces.h"
#include "jobs/run/prepared_rank.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::jobs {
namespace {

using parallel::RankStepTime;
using runtime::Collectives;

template <class T>
parallel::Bytes bytes_of(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> numbers_of(const parallel::Bytes& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

class RankJob {
 public:
  RankJob(const PreparedRun& prepared, const RunPlanRequest& request, Collectives& collectives,
          const Context& context)
      : prepared_(prepared), request_(request), collectives_(collectives), ranks_(collectives),
        context_(context), rank_(static_cast<std::size_t>(collectives.rank())) {}

  core::Result<RanksOutcome> run(const std::function<void()>& has_taken) {
    SOAPSTONE_RETURN_IF_ERROR(ranks_.agree(compile()));
    has_taken();
    SOAPSTONE_RETURN_IF_ERROR(own_->connect(collectives_));
    RanksOutcome outcome;
    SOAPSTONE_RETURN_IF_ERROR(run_steps(outcome));
    SOAPSTONE_RETURN_IF_ERROR(gather_times(outcome));
    SOAPSTONE_RETURN_IF_ERROR(gather_losses(outcome));
    const bool checks_these = request_.checks && !prepared_.training;
    SOAPSTONE_ASSIGN_OR_RETURN(outcome.pieces,
                               gather_pieces(prepared_, own_->outputs(),
                                             checks_these ? Gathered::kAll : Gathered::kOnce,
                                             collectives_));
    if (checks_these) outcome.checked = outcome.pieces;
    return outcome;
  }

 private:
  core::Status compile() {
    context_.progress.stage("compiling");
    SOAPSTONE_ASSIGN_OR_RETURN(PreparedRank own,
                               PreparedRank::make(prepared_, request_.device, rank_));
    own_.emplace(std::move(own));
    return core::Done{};
  }

  /// All ranks begin a run together, or none does, because one was told to stop.
  core::Status begin_together() {
    std::int32_t stops = context_.stop.stop_requested() ? 1 : 0;
    const runtime::DeviceAddress address(reinterpret_cast<std::uintptr_t>(&stops));
    SOAPSTONE_RETURN_IF_ERROR(collectives_.all_reduce({address, 1, core::DataType::kInt32}, address,
                                                      runtime::Reduction::kMax));
    SOAPSTONE_RETURN_IF_ERROR(collectives_.wait());
    if (stops == 0) return core::Done{};
    return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
  }

  /// The first run warms up, but in training, where all are steps.
  core::Status run_steps(RanksOutcome& outcome) {
    context_.progress.stage("running");
    const bool trains = prepared_.training.has_value();
    const int untimed = trains ? 0 : 1;
    for (int run = 0; run < request_.steps + untimed; ++run) {
      if (core::Status begun = begin_together(); !begun) {
        if (trains && run > 0) SOAPSTONE_RETURN_IF_ERROR(write_checkpoint(run));
        return begun;
      }
      // The others may wait in an exchange, so lack of memory has to end them, too.
      const core::Status ran = guarded(context_, [&](const Context&) { return own_->run(run); });
      if (!ran) {
        const core::Error error = ran.error().at(fmt::format("rank {}", rank_));
        collectives_.abort(error.to_string());
        return error;
      }
      if (trains) SOAPSTONE_RETURN_IF_ERROR(end_step(run, outcome));
      const bool is_first_of_several = trains && run == 0 && request_.steps > 1;
      if (run >= untimed && !is_first_of_several)
        times_.emplace_back(own_->runner().times().begin(), own_->runner().times().end());
      context_.progress.update(static_cast<std::uint64_t>(run + 1 - untimed),
                               static_cast<std::uint64_t>(request_.steps), "");
    }
    return core::Done{};
  }

  /// Notes the loss, and writes a checkpoint if it is time.
  core::Status end_step(int run, RanksOutcome& outcome) {
    const std::vector<parallel::HeldPiece>& results = own_->program().outputs;
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k].tensor == prepared_.training->loss)
        losses_.push_back(own_->outputs()[k]->to_doubles()[0]);
    if (run == 0 && request_.checks) {
      SOAPSTONE_ASSIGN_OR_RETURN(
          outcome.checked, gather_pieces(prepared_, own_->outputs(), Gathered::kAll, collectives_));
    }
    const int every = request_.training.every;
    const bool is_last = run + 1 == request_.steps;
    if (is_last || (every > 0 && (run + 1) % every == 0)) return write_checkpoint(run + 1);
    return core::Done{};
  }

  /// Writes the state behind so many steps of this run.
  core::Status write_checkpoint(int steps) {
    if (request_.training.checkpoint.empty()) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(
        const std::vector<ComputedPiece> pieces,
        gather_pieces(prepared_, own_->outputs(), Gathered::kOnce, collectives_));
    core::Status written = core::Done{};
    if (rank_ == 0)
      written = save_checkpoint(request_.training.checkpoint, prepared_, pieces,
                                prepared_.training->steps_before + steps);
    return ranks_.agree(written);
  }

  /// Some ranks have the loss.
  core::Status gather_losses(RanksOutcome& outcome) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto all, ranks_.all_gather(bytes_of(losses_)));
    for (const parallel::Bytes& losses : all)
      if (outcome.losses.empty()) outcome.losses = numbers_of<double>(losses);
    return core::Done{};
  }

  core::Status gather_times(RanksOutcome& outcome) {
    std::vector<double> ends_us;
    for (const std::vector<RankStepTime>& times : times_)
      ends_us.push_back(times.empty() ? 0 : times.back().end_us);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto all_ends, ranks_.all_gather(bytes_of(ends_us)));
    outcome.step_us.resize(times_.size());
    for (const parallel::Bytes& bytes : all_ends) {
      const std::vector<double> of_rank = numbers_of<double>(bytes);
      for (std::size_t k = 0; k < of_rank.size(); ++k)
        outcome.step_us[k] = std::max(outcome.step_us[k], of_rank[k]);
    }
    const double low_us = cost::quantile(outcome.step_us, kLowQuantile);
    outcome.chosen = static_cast<std::size_t>(std::ranges::find(outcome.step_us, low_us) -
                                              outcome.step_us.begin());
    SOAPSTONE_ASSIGN_OR_RETURN(const auto times,
                               ranks_.all_gather(bytes_of(times_[outcome.chosen])));
    for (const parallel::Bytes& bytes : times)
      outcome.times.push_back(numbers_of<RankStepTime>(bytes));
    const auto slow = own_->runner().reference_kernels();
    const std::vector<double> own = {static_cast<double>(own_->runner().peak_bytes()),
                                     static_cast<double>(slow.size())};
    if (!slow.empty())
      outcome.reference_kernel = fmt::format("{} ({})", slow.front().first, slow.front().second);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto figures, ranks_.all_gather(bytes_of(own)));
    for (const parallel::Bytes& bytes : figures) {
      const std::vector<double> of_rank = numbers_of<double>(bytes);
      outcome.peak_bytes.push_back(of_rank[0]);
      outcome.reference_kernels += static_cast<std::size_t>(of_rank[1]);
    }
    return core::Done{};
  }

  const PreparedRun& prepared_;
  const RunPlanRequest& request_;
  Collectives& collectives_;
  parallel::Ranks ranks_;
  const Context& context_;
  const std::size_t rank_;
  std::optional<PreparedRank> own_;
  std::vector<double> losses_;
  std::vector<std::vector<RankStepTime>> times_;  ///< By timed run.
};

}  // namespace

core::Result<RanksOutcome> run_rank(const PreparedRun& prepared, const RunPlanRequest& request,
                                    Collectives& collectives, const Context& context,
                                    const std::function<void()>& has_taken) {
  return RankJob(prepared, request, collectives, context).run(has_taken);
}

}  // namespace soapstone::jobs
