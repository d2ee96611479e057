#include "parallel/planning/memory_fit.h"

#include <algorithm>
#include <utility>

namespace soapstone::parallel {
namespace {

/// A price at which memory counts more than anything.
double high_price(const MeshPlan& plan) {
  constexpr double kHigh = 100;
  return kHigh * plan.time.total_us / plan.time.peak_bytes;
}

}  // namespace

bool MemoryFit::is_better(const MeshPlan& a, const MeshPlan& b) const {
  const bool a_fits = fits(a), b_fits = fits(b);
  if (a_fits != b_fits) return a_fits;
  if (!a_fits) return a.time.peak_bytes < b.time.peak_bytes;
  return a.time.total_us < b.time.total_us;
}

std::vector<MeshShape> MemoryFit::keeping_less(MeshShape shape) const {
  std::vector<MeshShape> shapes;
  if (freedom_.recompute) return shapes;
  const auto first = static_cast<std::size_t>(shape.recompute) + 1;
  for (std::size_t level = first; level < kRecomputeNames.size(); ++level) {
    shape.recompute = static_cast<Recompute>(level);
    if (evaluator_.can_recompute(shape.recompute)) shapes.push_back(shape);
  }
  return shapes;
}

MeshPlan MemoryFit::smallest(const MeshPlan& plan) const {
  MeshPlan found = evaluator_.plan_at(freedom_, plan.shape, {high_price(plan)});
  const std::vector<MeshShape> less = keeping_less(plan.shape);
  if (less.empty() || fits(found) || stop_.stop_requested()) return found;
  MeshPlan again = evaluator_.plan_at(freedom_, less.back(), {high_price(plan)});
  return again.sharding.cost_us < kImpossible && is_better(again, found) ? again : found;
}

std::vector<MeshPlan> MemoryFit::fitted(MeshPlan plan, double limit_us) const {
  std::vector<MeshPlan> unfitted, found;
  const auto take = [&](MeshPlan& fitting) {
    limit_us = std::min(limit_us, fitting.time.total_us);
    found.push_back(std::move(fitting));
  };
  const std::vector<MeshShape> shapes = keeping_less(plan.shape);
  unfitted.push_back(std::move(plan));
  for (const MeshShape& shape : shapes) {
    if (unfitted.back().time.total_us >= limit_us || stop_.stop_requested()) break;
    MeshPlan less = evaluator_.plan_at(freedom_, shape, {});
    if (less.sharding.cost_us == kImpossible) continue;
    if (fits(less)) {
      take(less);
      break;
    }
    unfitted.push_back(std::move(less));
  }
  for (MeshPlan& priced : unfitted) {
    make_fit(priced, limit_us, 1);
    if (fits(priced)) take(priced);
  }
  return found;
}

void MemoryFit::make_fit(MeshPlan& plan, double limit_us, double sums) const {
  constexpr int kMostPrices = 6;
  constexpr double kCloseEnough = 1.01;
  if (fits(plan) || plan.sharding.cost_us == kImpossible) return;
  const double least_us = plan.time.total_us;
  if (kCloseEnough * least_us >= limit_us || stop_.stop_requested()) return;
  MeshPlan best = evaluator_.plan_at(freedom_, plan.shape, {high_price(plan), sums});
  if (!is_better(best, plan)) return;
  StepTime too_large = plan.time, small = best.time;
  for (int k = 0; k < kMostPrices && fits(best); ++k) {
    const double saved_us = small.total_us - too_large.total_us;
    const double bytes = too_large.peak_bytes - small.peak_bytes;
    if (best.time.total_us <= kCloseEnough * least_us || saved_us <= 0 || bytes <= 0) break;
    // At this price both are equally good, and whatever lies below the line between them is better.
    MeshPlan found = evaluator_.plan_at(freedom_, plan.shape, {saved_us / bytes, sums});
    const StepTime& time = found.time;
    if (time.peak_bytes == too_large.peak_bytes || time.peak_bytes == small.peak_bytes) break;
    (fits(found) ? small : too_large) = time;
    if (is_better(found, best)) best = std::move(found);
  }
  plan = std::move(best);
}

}  // namespace soapstone::parallel
