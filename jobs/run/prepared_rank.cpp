// See prepared_rank.h.
#include "jobs/run/prepared_rank.h"

#include <utility>

namespace soapstone::jobs {

using parallel::RankRunner;

core::Result<PreparedRank> PreparedRank::make(const PreparedRun& prepared,
                                              const DeviceRequest& device, std::size_t rank) {
  PreparedRank made(prepared, rank);
  SOAPSTONE_ASSIGN_OR_RETURN(made.backend_, make_backend(device));
  SOAPSTONE_ASSIGN_OR_RETURN(RankRunner runner,
                             RankRunner::make(made.program(), fixed_pieces(prepared, rank),
                                              *made.backend_, device.fusion));
  made.runner_.emplace(std::move(runner));
  made.replaced_ = replaced_pieces(prepared, rank);
  return made;
}

core::Status PreparedRank::run(int number) {
  std::vector<core::LiteralPtr> inputs = inputs_of(number);
  outputs_.clear();  // Weights and states that the step replaces are the runner's alone.
  SOAPSTONE_ASSIGN_OR_RETURN(outputs_, runner_->run(std::move(inputs)));
  if (prepared_->training) replace();
  return core::Done{};
}

std::vector<core::LiteralPtr> PreparedRank::inputs_of(int number) {
  const std::size_t batch = batch_of_run(*prepared_, number);
  if (batch != batch_ || data_.empty()) data_ = data_pieces(*prepared_, rank_, batch);
  batch_ = batch;
  std::vector<core::LiteralPtr> inputs = data_;
  if (!prepared_->training) return inputs;
  const auto numbers =
      numbers_of_step(*prepared_->training, prepared_->training->steps_before + number + 1);
  const std::vector<parallel::HeldPiece>& held = program().inputs;
  for (std::size_t k = 0; k < held.size(); ++k) {
    if (replaced_[k]) inputs[k] = std::exchange(replaced_[k], nullptr);
    if (const auto at = numbers.find(held[k].tensor); at != numbers.end()) inputs[k] = at->second;
  }
  return inputs;
}

/// Results take the place of inputs.
void PreparedRank::replace() {
  const std::vector<parallel::HeldPiece>& results = program().outputs;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const auto replaced = prepared_->training->replaced.find(results[k].tensor);
    if (replaced == prepared_->training->replaced.end()) continue;
    for (std::size_t i = 0; i < program().inputs.size(); ++i)
      if (program().inputs[i].tensor == replaced->second) replaced_[i] = outputs_[k];
  }
}

}  // namespace soapstone::jobs
