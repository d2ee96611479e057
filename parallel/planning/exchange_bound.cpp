#include "parallel/planning/exchange_bound.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/tasks/tasks.h"
#include "parallel/planning/shape_bound.h"

namespace soapstone::parallel {
namespace {

std::vector<std::int64_t> factors_of(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) factors.push_back(d);
  return factors;
}

/// A shape, or all shapes with these stages, chunks and microbatches.
struct Branch {
  MeshShape shape;
  double us = 0;                    ///< No step there takes less.
  std::optional<ShapeBound> bound;  ///< None: a group of shapes.
};

class BranchAndBound {
 public:
  BranchAndBound(const MeshEvaluator& evaluator, const ExchangeBoundOptions& options,
                 const core::StopToken& stop)
      : evaluator_(evaluator), options_(options), stop_(stop), left_(options.most_shardings) {}

  double run() {
    for (const std::int64_t count : factors_of(evaluator_.batch())) add_groups(count);
    while (left_ > 0 && !stop_.stop_requested()) {
      std::ranges::stable_sort(branches_, {}, &Branch::us);
      if (is_over(branches_.front())) break;
      if (branches_.front().bound)
        raise_first();
      else
        split_first();
    }
    return std::ranges::min_element(branches_, {}, &Branch::us)->us;
  }

 private:
  bool is_over(const Branch& least) const {
    return least.us >= options_.enough_us || (least.bound && least.bound->is_done());
  }

  /// All shapes with so many microbatches. On one stage several of them let no part of a step take
  /// less than one does, except that other numbers of samples may be cut unevenly in other ways.
  void add_groups(std::int64_t microbatches) {
    const StepWork work = evaluator_.least_work(microbatches);
    for (const std::int64_t stages : factors_of(evaluator_.devices()))
      for (const bool is_uneven : {false, true}) {
        MeshShape shape;
        shape.microbatches = microbatches;
        shape.stages = stages;
        shape.is_uneven = is_uneven;
        if (is_uneven && !evaluator_.has_unlike_devices()) continue;
        if (!is_uneven && stages == 1 && microbatches > 1) continue;
        if (stages > evaluator_.nodes()) continue;
        const PassesBound passes = evaluator_.least_passes(shape, work);
        add_group(shape, passes);
        shape.chunks = 2;
        if (stages == 1 || microbatches % stages != 0) continue;
        if (stages * shape.chunks <= evaluator_.nodes()) add_group(shape, passes);
      }
  }

  void add_group(const MeshShape& shape, const PassesBound& passes) {
    branches_.push_back({shape, least_step_us(inequalities_of(shape), passes), {}});
  }

  std::vector<StepInequality> inequalities_of(const MeshShape& shape) const {
    return step_inequalities(shape, evaluator_.stage_shares(shape), evaluator_.is_training());
  }

  void split_first() {
    const Branch group = branches_.front();
    branches_.erase(branches_.begin());
    const std::int64_t of_stage = evaluator_.devices() / group.shape.stages;
    const std::vector<StepInequality> inequalities = inequalities_of(group.shape);
    for (const std::int64_t model : factors_of(of_stage))
      for (const std::int64_t any : factors_of(of_stage / model)) {
        MeshShape shape = group.shape;
        shape.model = model;
        shape.any = any;
        shape.batch = of_stage / model / any;
        // The axis for anything may cut what that for the model or the batch may.
        if (any == 1 && of_stage > 1) continue;
        if (shape.batch * shape.microbatches > evaluator_.batch()) continue;
        if (shape.is_uneven && !evaluator_.can_be_uneven(shape)) continue;
        branches_.push_back({shape, group.us, ShapeBound(shape, inequalities)});
      }
  }

  /// How many at once does not depend on the number of threads, so neither does the bound.
  void raise_first() {
    std::size_t count = 0;
    while (count < std::min(kAtOnce, branches_.size()) && branches_[count].bound &&
           !is_over(branches_[count]))
      ++count;
    core::parallel_for_uneven(0, count, [&](std::size_t k) {
      branches_[k].bound->raise(evaluator_);
      branches_[k].us = std::max(branches_[k].us, branches_[k].bound->us());
    });
    left_ -= static_cast<std::int64_t>(count);
  }

  static constexpr std::size_t kAtOnce = 4;
  const MeshEvaluator& evaluator_;
  const ExchangeBoundOptions& options_;
  const core::StopToken& stop_;
  std::int64_t left_;
  std::vector<Branch> branches_;
};

}  // namespace

double least_step_us(const MeshEvaluator& evaluator, const ExchangeBoundOptions& options,
                     const core::StopToken& stop) {
  // A bucket of all weights is the cheapest only by closed forms: measured rates fall beyond
  // caches.
  if (evaluator.has_measured_parts() || evaluator.has_measured_exchanges()) return 0;
  constexpr double kRounding = 1e-9;
  double us = 0;
  core::TaskArena arena(options.threads);
  arena.run([&] { us = BranchAndBound(evaluator, options, stop).run(); });
  return us * (1 - kRounding);
}

StepBound bound_of_plan(const MeshEvaluator& evaluator, const Freedom& freedom, double plan_us,
                        int threads, const core::StopToken& stop) {
  constexpr std::int64_t kFewNodes = 150, kNodesLookedAt = 40'000, kFewShardings = 50;
  constexpr double kClose = 0.9, kCloseEnough = 0.75;
  StepBound bound = evaluator.lower_bound();
  if (freedom.bisects) return bound;
  ExchangeBoundOptions options;
  options.enough_us = (evaluator.nodes() <= kFewNodes ? kClose : kCloseEnough) * plan_us;
  options.most_shardings = kNodesLookedAt / std::max<std::int64_t>(evaluator.nodes(), 1);
  if (options.most_shardings < kFewShardings) options.most_shardings = 0;
  options.threads = threads;
  const double us = least_step_us(evaluator, options, stop);
  bound.exchanges_us = std::max(0.0, us - bound.us);
  bound.us += bound.exchanges_us;
  return bound;
}

}  // namespace soapstone::parallel
