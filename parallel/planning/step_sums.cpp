#include "parallel/planning/step_sums.h"

#include <algorithm>
#include <cmath>

namespace soapstone::parallel {

namespace {

/// How many times the passes of one microbatch a pipeline takes at least. Stages in pieces do not
/// wait for all of the stages before them.
double least_passes(const MeshShape& shape) {
  const auto m = static_cast<double>(shape.microbatches), s = static_cast<double>(shape.stages);
  if (shape.chunks > 1) return std::max(1.0, m / s);
  return 1 / (1 - std::pow(1 - 1 / m, s));
}

}  // namespace

StepSums::StepSums(const MeshShape& shape, bool is_training, bool is_one_bucket,
                   const std::vector<Slowness>& slowness, std::size_t position_count)
    : microbatches_(static_cast<double>(shape.microbatches)) {
  for (const Slowness& stage : slowness) scale_ = std::min(scale_, stage.work);
  if (!slowness.empty())
    update_scale_ = std::ranges::min_element(slowness, {}, &Slowness::update)->update;
  pipeline_scale_ = scale_ * least_passes(shape);
  scale_ /= static_cast<double>(shape.stages);
  update_scale_ /= static_cast<double>(shape.stages);
  constexpr int kParts = 4;
  const auto share = [](int part) { return static_cast<double>(part) / kParts; };
  const int trained = is_training ? kParts : 0;
  for (int s = 0; is_one_bucket && s <= trained; ++s) add_in_turn(share(s));
  for (int f = 0; f <= kParts; ++f)
    for (int b = 0; b <= trained; ++b) {
      if (shape.stages > 1) add_pipeline(share(f), share(b));
      for (int s = 0; !is_one_bucket && b + s <= trained; ++s)
        add_hiding(share(f), share(b), share(s));
    }
  if (position_count > 1) add_positions(position_count);
}

/// `forward_hidden`: as much of a forward pass is not counted, but of what is gathered for it.
void StepSums::add_hiding(double forward_hidden, double backward_hidden, double summed) {
  const double before_last = microbatches_ - 1;
  StepWeights weights;
  weights.forward = scale_ * microbatches_ * (1 - forward_hidden);
  weights.gathered = scale_ * microbatches_ * forward_hidden;
  weights.backward = scale_ * (before_last * (1 - forward_hidden) + 1 - backward_hidden - summed);
  weights.exchanged_backward = scale_ * (before_last * forward_hidden + backward_hidden);
  weights.sums = scale_ * summed;
  weights.updates = update_scale_;
  weights_.push_back(weights);
}

void StepSums::add_in_turn(double summed) {
  StepWeights weights;
  weights.forward = weights.gathered = scale_ * microbatches_;
  weights.backward = weights.exchanged_backward = scale_ * (microbatches_ - summed);
  weights.sums = scale_ * summed;
  weights.updates = update_scale_;
  weights_.push_back(weights);
}

void StepSums::add_pipeline(double forward_hidden, double backward_hidden) {
  StepWeights weights;
  weights.forward = pipeline_scale_ * (1 - forward_hidden);
  weights.gathered = pipeline_scale_ * forward_hidden;
  weights.backward = pipeline_scale_ * (1 - backward_hidden);
  weights.exchanged_backward = pipeline_scale_ * backward_hidden;
  weights.sums = weights.updates = 0;
  weights_.push_back(weights);
}

/// The devices of each position do their part, and so does the mean of positions.
void StepSums::add_positions(std::size_t count) {
  std::vector<StepWeights> all;
  for (const StepWeights& weights : weights_)
    for (std::size_t p = 0; p <= count; ++p) {
      StepWeights here = weights;
      here.positions.assign(count, p < count ? 0 : 1 / static_cast<double>(count));
      if (p < count) here.positions[p] = 1;
      all.push_back(std::move(here));
    }
  weights_ = std::move(all);
}

}  // namespace soapstone::parallel
