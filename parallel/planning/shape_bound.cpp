#include "parallel/planning/shape_bound.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

constexpr std::size_t kMostAnswers = 8;
/// A bound that cannot rise by a larger share is left alone.
constexpr double kCloseEnough = 2e-3;
/// Passes take most of the time of most steps: the first mixture is mostly that inequality.
constexpr double kPassesAtFirst = 0.8;
constexpr int kRounds = 400;

/// A pass takes no less than its own work, and no less than what it gathers and scatters.
void add_passes(double forward, double backward, const StepInequality& rest,
                std::vector<StepInequality>& all) {
  for (const bool gathers : {false, true})
    for (const bool scatters : {false, true}) {
      StepInequality each = rest;
      (gathers ? each.weights.gathered : each.weights.forward) = forward;
      (scatters ? each.weights.exchanged_backward : each.weights.backward) = backward;
      all.push_back(each);
      if (backward == 0) break;
    }
}

}  // namespace

std::vector<StepInequality> step_inequalities(const MeshShape& shape, const StageShares& shares,
                                              bool is_training) {
  const auto stages = static_cast<double>(shape.stages);
  const auto m = static_cast<double>(shape.microbatches);
  const bool is_interleaved = shape.chunks > 1;
  std::vector<StepInequality> all;
  const StepInequality nothing{{0, 0, 0, 0, 0, 0}, 0};
  const double slowest = shares.slowest, fastest = shares.fastest;
  StepInequality handed_over = nothing;
  handed_over.us = (is_training ? 2 : 1) * shares.handovers_us;
  StepInequality updated = nothing;
  updated.weights.updates = is_training ? shares.updates : 0;
  if (!is_training) {
    add_passes(m * slowest, 0, nothing, all);
    if (shape.stages > 1)
      add_passes(fastest + (is_interleaved ? 0 : (m - 1) * slowest), 0, handed_over, all);
    return all;
  }
  // The mean of what stages take.
  add_passes(m * slowest, m * slowest, updated, all);
  // Sums begin with the last backward pass of the last piece of a stage.
  StepInequality summed = updated;
  summed.weights.sums = slowest;
  const double behind = is_interleaved ? stages : 1;
  add_passes(m * slowest, std::max(0.0, m - behind) * slowest, summed, all);
  if (shape.stages == 1) return all;
  if (is_interleaved) {
    add_passes(fastest, fastest, handed_over, all);
    summed.us = shares.handovers_us;
    add_passes(fastest, 0, summed, all);
    return all;
  }
  // The first microbatch passes all stages forward, and those behind a stage backward, before the
  // stage's first backward pass. The last one passes those before it backward in the end.
  const double forward = fastest + (m - std::min(m, stages)) * slowest;
  add_passes(forward, fastest + (m - 1) * slowest, handed_over, all);
  summed.us = shares.handovers_us;
  add_passes(forward, (m - 1) * slowest, summed, all);
  return all;
}

double least_step_us(const std::vector<StepInequality>& inequalities, const PassesBound& passes) {
  StepParts parts;
  parts.passes = {{passes.forward_us, passes.backward_us}};
  double us = 0;
  for (const StepInequality& each : inequalities)
    us = std::max(us, each.us + sum_of(each.weights, parts));
  return us;
}

ShapeBound::ShapeBound(const MeshShape& shape, std::vector<StepInequality> inequalities)
    : shape_(shape), inequalities_(std::move(inequalities)) {
  const auto passes = std::ranges::max_element(inequalities_, {}, [](const StepInequality& each) {
    return each.weights.forward + 2 * each.weights.backward + each.weights.updates;
  });
  const double rest = (1 - kPassesAtFirst) / static_cast<double>(inequalities_.size());
  mixture_.assign(inequalities_.size(), rest);
  mixture_[static_cast<std::size_t>(passes - inequalities_.begin())] += kPassesAtFirst;
}

bool ShapeBound::is_done() const {
  return us_ == kImpossible || answers_.size() >= kMostAnswers ||
         most_us_ - us_ <= kCloseEnough * us_;
}

StepWeights ShapeBound::mixed(double& us) const {
  StepWeights weights{0, 0, 0, 0, 0, 0};
  us = 0;
  for (std::size_t k = 0; k < inequalities_.size(); ++k) {
    const StepWeights& each = inequalities_[k].weights;
    weights.forward += mixture_[k] * each.forward;
    weights.backward += mixture_[k] * each.backward;
    weights.gathered += mixture_[k] * each.gathered;
    weights.exchanged_backward += mixture_[k] * each.exchanged_backward;
    weights.sums += mixture_[k] * each.sums;
    weights.updates += mixture_[k] * each.updates;
    us += mixture_[k] * inequalities_[k].us;
  }
  return weights;
}

void ShapeBound::raise(const MeshEvaluator& evaluator) {
  double us = 0;
  const Sharding found = evaluator.least_sharding(shape_, mixed(us));
  if (found.cost_us == kImpossible) {
    us_ = kImpossible;
    return;
  }
  if (us + found.lower_bound_us > us_ || best_.empty()) {
    us_ = std::max(us_, us + found.lower_bound_us);
    best_ = mixture_;
  }
  std::vector<double>& answer = answers_.emplace_back();
  for (const StepInequality& each : inequalities_)
    answer.push_back(each.us + sum_of(each.weights, found.parts));
  solve();
}

/// Plays fictitiously: each side answers the mean of what the other did so far. The next mixture
/// lies between the best one so far and the best against the answers that are known, which alone
/// would be off wherever an answer is missing.
void ShapeBound::solve() {
  const std::size_t inequalities = inequalities_.size();
  std::vector<double> says(inequalities, 0), costs(answers_.size(), 0);
  std::vector<double> played(inequalities, 0);
  std::size_t answer = answers_.size() - 1;
  most_us_ = kImpossible;
  for (int round = 1; round <= kRounds; ++round) {
    for (std::size_t k = 0; k < inequalities; ++k) says[k] += answers_[answer][k];
    const auto best = static_cast<std::size_t>(std::ranges::max_element(says) - says.begin());
    most_us_ = std::min(most_us_, says[best] / round);
    ++played[best];
    for (std::size_t a = 0; a < answers_.size(); ++a) costs[a] += answers_[a][best];
    answer = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
  }
  for (std::size_t k = 0; k < inequalities; ++k) mixture_[k] = (best_[k] + played[k] / kRounds) / 2;
}

}  // namespace soapstone::parallel
