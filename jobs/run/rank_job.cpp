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
#include "parallel/ranks/ranks.h"

namespace soapstone::jobs {
namespace {

using parallel::RankRunner;
using parallel::RankStepTime;
using runtime::Collectives;

/// The quantile of the times of runs that is told: other work of the machine can only make one
/// slower.
constexpr double kLowQuantile = 0.2;

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
    SOAPSTONE_RETURN_IF_ERROR(runner_->connect(collectives_));
    RanksOutcome outcome;
    SOAPSTONE_RETURN_IF_ERROR(run_steps(outcome));
    SOAPSTONE_RETURN_IF_ERROR(gather_times(outcome));
    SOAPSTONE_RETURN_IF_ERROR(gather_losses(outcome));
    const bool checks_these = request_.checks && !prepared_.training;
    SOAPSTONE_ASSIGN_OR_RETURN(outcome.pieces,
                               gather_pieces(prepared_, outputs_,
                                             checks_these ? Gathered::kAll : Gathered::kOnce,
                                             collectives_));
    if (checks_these) outcome.checked = outcome.pieces;
    return outcome;
  }

 private:
  core::Status compile() {
    context_.progress.stage("compiling");
    SOAPSTONE_ASSIGN_OR_RETURN(backend_, make_backend(request_.device));
    SOAPSTONE_ASSIGN_OR_RETURN(RankRunner runner,
                               RankRunner::make(prepared_.programs[rank_],
                                                fixed_pieces(prepared_, rank_), *backend_,
                                                request_.device.fusion));
    runner_.emplace(std::move(runner));
    replaced_ = replaced_pieces(prepared_, rank_);
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
      std::vector<core::LiteralPtr> inputs = inputs_of(run);
      outputs_.clear();  // Weights and states that the step replaces are the runner's alone.
      auto outputs =
          guarded(context_, [&](const Context&) { return runner_->run(std::move(inputs)); });
      if (!outputs) {
        const core::Error error = outputs.error().at(fmt::format("rank {}", rank_));
        collectives_.abort(error.to_string());
        return error;
      }
      outputs_ = *std::move(outputs);
      if (trains) SOAPSTONE_RETURN_IF_ERROR(end_step(run, outcome));
      const bool is_first_of_several = trains && run == 0 && request_.steps > 1;
      if (run >= untimed && !is_first_of_several)
        times_.emplace_back(runner_->times().begin(), runner_->times().end());
      context_.progress.update(static_cast<std::uint64_t>(run + 1 - untimed),
                               static_cast<std::uint64_t>(request_.steps), "");
    }
    return core::Done{};
  }

  std::vector<core::LiteralPtr> inputs_of(int run) {
    const std::size_t batch = static_cast<std::size_t>(run) % prepared_.batches.size();
    if (batch != batch_ || data_.empty()) data_ = data_pieces(prepared_, rank_, batch);
    batch_ = batch;
    std::vector<core::LiteralPtr> inputs = data_;
    if (!prepared_.training) return inputs;
    const auto numbers =
        numbers_of_step(*prepared_.training, prepared_.training->steps_before + run + 1);
    const std::vector<parallel::HeldPiece>& held = program().inputs;
    for (std::size_t k = 0; k < held.size(); ++k) {
      if (replaced_[k]) inputs[k] = std::exchange(replaced_[k], nullptr);
      if (const auto number = numbers.find(held[k].tensor); number != numbers.end())
        inputs[k] = number->second;
    }
    return inputs;
  }

  /// Results take the place of inputs, and the loss is noted.
  core::Status end_step(int run, RanksOutcome& outcome) {
    const std::vector<parallel::HeldPiece>& results = program().outputs;
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (results[k].tensor == prepared_.training->loss)
        losses_.push_back(outputs_[k]->to_doubles()[0]);
      const auto replaced = prepared_.training->replaced.find(results[k].tensor);
      if (replaced == prepared_.training->replaced.end()) continue;
      for (std::size_t i = 0; i < program().inputs.size(); ++i)
        if (program().inputs[i].tensor == replaced->second) replaced_[i] = outputs_[k];
    }
    if (run == 0 && request_.checks) {
      SOAPSTONE_ASSIGN_OR_RETURN(outcome.checked,
                                 gather_pieces(prepared_, outputs_, Gathered::kAll, collectives_));
    }
    const int every = request_.training.every;
    const bool is_last = run + 1 == request_.steps;
    if (is_last || (every > 0 && (run + 1) % every == 0)) return write_checkpoint(run + 1);
    return core::Done{};
  }

  /// Writes the state behind so many steps of this run.
  core::Status write_checkpoint(int steps) {
    if (request_.training.checkpoint.empty()) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<ComputedPiece> pieces,
                               gather_pieces(prepared_, outputs_, Gathered::kOnce, collectives_));
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

  const parallel::RankProgram& program() const { return prepared_.programs[rank_]; }

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
    const auto slow = runner_->reference_kernels();
    const std::vector<double> own = {static_cast<double>(runner_->peak_bytes()),
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
  std::unique_ptr<runtime::Backend> backend_;
  std::optional<RankRunner> runner_;    // behind the backend, which outlives it
  std::vector<core::LiteralPtr> data_;  ///< Of the batch `batch_`, by input of the program.
  std::size_t batch_ = 0;
  std::vector<core::LiteralPtr> replaced_;  ///< What the last step left, by input of the program.
  std::vector<core::LiteralPtr> outputs_;
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
