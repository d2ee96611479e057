#include "parallel/step/pipeline_run.h"

#include <algorithm>

#include "core/base/check.h"
#include "parallel/step/pipeline_schedule.h"

namespace soapstone::parallel {
namespace {

constexpr double kNotYet = -1;

class PipelineRunner {
 public:
  PipelineRunner(const MeshShape& shape, bool is_training, const std::vector<PieceTimes>& pieces,
                 const std::vector<Path>& handovers)
      : shape_(shape), is_training_(is_training), pieces_(pieces), handovers_(handovers),
        stages_(static_cast<std::size_t>(shape.stages)),
        microbatches_(static_cast<std::size_t>(shape.microbatches)) {}

  PipelineRun run() {
    result_.stage_end_us.assign(stages_, 0);
    result_.last_backward_us.assign(pieces_.size(), 0);
    for (auto* const arrivals : {&forward_arrives_, &backward_arrives_})
      arrivals->assign(pieces_.size() * microbatches_, kNotYet);
    for (auto* const free : {&forward_wire_, &backward_wire_}) free->assign(stages_, 0);
    run_schedules(shape_, is_training_,
                  [this](std::size_t stage, const PieceRun& run) { return pass(stage, run); });
    result_.end_us = *std::ranges::max_element(result_.stage_end_us);
    return std::move(result_);
  }

 private:
  /// False if what it reads has not been made yet.
  bool pass(std::size_t stage, const PieceRun& run) {
    const std::size_t piece = static_cast<std::size_t>(run.chunk) * stages_ + stage;
    const std::size_t index = piece * microbatches_ + static_cast<std::size_t>(run.microbatch);
    const bool is_first = run.is_backward ? piece + 1 == pieces_.size() : piece == 0;
    const double arrives =
        is_first ? 0 : (run.is_backward ? backward_arrives_ : forward_arrives_)[index];
    if (arrives == kNotYet) return false;
    double& free = result_.stage_end_us[stage];
    const double begin = std::max(free, arrives);
    if (run.is_backward && run.microbatch + 1 == shape_.microbatches)
      result_.last_backward_us[piece] = begin;
    free = begin + (run.is_backward ? pieces_[piece].backward_us : pieces_[piece].forward_us);
    hand_over(stage, piece, index, run.is_backward, free);
    return true;
  }

  void hand_over(std::size_t stage, std::size_t piece, std::size_t index, bool is_backward,
                 double ready_us) {
    if (!is_backward && piece + 1 < pieces_.size())
      forward_arrives_[index + microbatches_] =
          sent(forward_wire_[stage], handovers_[stage], pieces_[piece].handover_bytes, ready_us);
    if (is_backward && piece > 0) {
      const std::size_t from = (stage + stages_ - 1) % stages_;
      backward_arrives_[index - microbatches_] =
          sent(backward_wire_[from], handovers_[from], pieces_[piece - 1].handover_bytes, ready_us);
    }
  }

  /// When it arrives; the wire is free again once all bytes have left.
  static double sent(double& wire_free_us, const Path& path, double bytes, double ready_us) {
    wire_free_us = std::max(wire_free_us, ready_us) + bytes / path.bytes_per_s * 1e6;
    return wire_free_us + path.latency_us;
  }

  const MeshShape& shape_;
  const bool is_training_;
  const std::vector<PieceTimes>& pieces_;
  const std::vector<Path>& handovers_;
  const std::size_t stages_, microbatches_;
  std::vector<double> forward_arrives_, backward_arrives_;  ///< By piece and microbatch.
  std::vector<double> forward_wire_, backward_wire_;        ///< By stage: free from then on.
  PipelineRun result_;
};

}  // namespace

PipelineRun run_pipeline(const MeshShape& shape, bool is_training,
                         const std::vector<PieceTimes>& pieces,
                         const std::vector<Path>& handovers) {
  CHECK(static_cast<std::int64_t>(pieces.size()) == shape.stages * shape.chunks,
        "as many pieces as the shape has");
  return PipelineRunner(shape, is_training, pieces, handovers).run();
}

}  // namespace soapstone::parallel
