// See rank_job.h.
#include "jobs/run/rank_job.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cost/timing/statistics.h"
#include "parallel/ranks/ranks.h"

namespace soapstone::jobs {
namespace {

using parallel::RankRunner;
using parallel::RankStepTime;
using runtime::Collectives;

/// Of the times of runs: what else happens on the machine can only make one slower.
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
    SOAPSTONE_RETURN_IF_ERROR(run_steps());
    RanksOutcome outcome;
    SOAPSTONE_RETURN_IF_ERROR(gather_times(outcome));
    SOAPSTONE_RETURN_IF_ERROR(gather_pieces(outcome));
    return outcome;
  }

 private:
  core::Status compile() {
    context_.progress.stage("compiling");
    SOAPSTONE_ASSIGN_OR_RETURN(backend_, make_backend(request_.device));
    SOAPSTONE_ASSIGN_OR_RETURN(RankRunner runner,
                               RankRunner::make(prepared_.programs[rank_],
                                                weight_pieces(prepared_, rank_), *backend_,
                                                request_.device.fusion));
    runner_.emplace(std::move(runner));
    inputs_ = input_pieces(prepared_, rank_);
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

  core::Status run_steps() {
    context_.progress.stage("running");
    const auto all = static_cast<std::uint64_t>(request_.steps);
    for (std::uint64_t step = 0; step <= all; ++step) {
      SOAPSTONE_RETURN_IF_ERROR(begin_together());
      auto outputs = runner_->run(inputs_);
      if (!outputs) {
        const core::Error error = outputs.error().at(fmt::format("rank {}", rank_));
        collectives_.abort(error.to_string());
        return error;
      }
      outputs_ = *std::move(outputs);
      if (step == 0) continue;
      times_.emplace_back(runner_->times().begin(), runner_->times().end());
      context_.progress.update(step, all, "");
    }
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
    const std::vector<double> own = {static_cast<double>(runner_->peak_bytes()),
                                     static_cast<double>(runner_->reference_kernels())};
    SOAPSTONE_ASSIGN_OR_RETURN(const auto figures, ranks_.all_gather(bytes_of(own)));
    for (const parallel::Bytes& bytes : figures) {
      const std::vector<double> of_rank = numbers_of<double>(bytes);
      outcome.peak_bytes.push_back(of_rank[0]);
      outcome.reference_kernels += static_cast<std::size_t>(of_rank[1]);
    }
    return core::Done{};
  }

  /// Whether the first rank needs this piece: some rank before it has the same one, if not.
  bool is_needed(std::size_t rank, const parallel::HeldPiece& piece) const {
    if (request_.checks) return true;
    for (std::size_t r = 0; r < rank; ++r)
      for (const parallel::HeldPiece& other : prepared_.programs[r].outputs)
        if (other.tensor == piece.tensor && other.piece == piece.piece) return false;
    return true;
  }

  core::Status gather_pieces(RanksOutcome& outcome) {
    if (rank_ > 0) return send_pieces();
    const std::vector<parallel::RankProgram>& programs = prepared_.programs;
    for (std::size_t k = 0; k < programs[0].outputs.size(); ++k)
      add_piece(0, programs[0].outputs[k], outputs_[k], outcome);
    SOAPSTONE_RETURN_IF_ERROR(collectives_.begin_group());
    std::vector<std::vector<std::byte>> buffers;
    for (std::size_t r = 1; r < programs.size(); ++r)
      for (const parallel::HeldPiece& piece : programs[r].outputs) {
        if (!is_needed(r, piece)) continue;
        const core::DataType type = programs[r].values[piece.value.index()].data_type;
        const std::int64_t count = piece.piece.element_count();
        std::vector<std::byte>& buffer =
            buffers.emplace_back(static_cast<std::size_t>(count) * core::size_bytes(type));
        const runtime::DeviceAddress to(reinterpret_cast<std::uintptr_t>(buffer.data()));
        SOAPSTONE_RETURN_IF_ERROR(collectives_.receive({to, count, type}, static_cast<int>(r)));
      }
    SOAPSTONE_RETURN_IF_ERROR(collectives_.end_group());
    SOAPSTONE_RETURN_IF_ERROR(collectives_.wait());
    std::size_t at = 0;
    for (std::size_t r = 1; r < programs.size(); ++r)
      for (const parallel::HeldPiece& piece : programs[r].outputs)
        if (is_needed(r, piece)) {
          const core::DataType type = programs[r].values[piece.value.index()].data_type;
          add_piece(r, piece,
                    std::make_shared<const core::Literal>(
                        core::Literal::copy(type, piece.piece.extents(), buffers[at++])),
                    outcome);
        }
    return core::Done{};
  }

  core::Status send_pieces() {
    const parallel::RankProgram& program = prepared_.programs[rank_];
    SOAPSTONE_RETURN_IF_ERROR(collectives_.begin_group());
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      if (!is_needed(rank_, program.outputs[k])) continue;
      const core::Literal& value = *outputs_[k];
      const runtime::DeviceAddress from(reinterpret_cast<std::uintptr_t>(value.bytes().data()));
      SOAPSTONE_RETURN_IF_ERROR(collectives_.send({from, value.count(), value.data_type()}, 0));
    }
    SOAPSTONE_RETURN_IF_ERROR(collectives_.end_group());
    return collectives_.wait();
  }

  void add_piece(std::size_t rank, const parallel::HeldPiece& piece, core::LiteralPtr value,
                 RanksOutcome& outcome) const {
    for (std::size_t k = 0; k < prepared_.results.size(); ++k)
      if (prepared_.results[k].tensor == piece.tensor)
        outcome.pieces.push_back({static_cast<std::int64_t>(rank), k, &piece.piece, value});
  }

  const PreparedRun& prepared_;
  const RunPlanRequest& request_;
  Collectives& collectives_;
  parallel::Ranks ranks_;
  const Context& context_;
  const std::size_t rank_;
  std::unique_ptr<runtime::Backend> backend_;
  std::optional<RankRunner> runner_;  // behind the backend, which outlives it
  std::vector<core::LiteralPtr> inputs_, outputs_;
  std::vector<std::vector<RankStepTime>> times_;  ///< By timed run.
};

}  // namespace

core::Result<RanksOutcome> run_rank(const PreparedRun& prepared, const RunPlanRequest& request,
                                    Collectives& collectives, const Context& context,
                                    const std::function<void()>& has_taken) {
  return RankJob(prepared, request, collectives, context).run(has_taken);
}

}  // namespace soapstone::jobs
