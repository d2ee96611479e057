// Makes plans fit into the memory of a device: by keeping less for gradients, or at a price of
// memory.
#pragma once

#include <vector>

#include "core/base/progress.h"
#include "parallel/planning/mesh_evaluation.h"

namespace soapstone::parallel {

class MemoryFit {
 public:
  /// All must outlive this.
  MemoryFit(const MeshEvaluator& evaluator, const Freedom& freedom, const core::StopToken& stop)
      : evaluator_(evaluator), freedom_(freedom), memory_(evaluator.memory_bytes()), stop_(stop) {}

  bool fits(const MeshPlan& plan) const { return plan.time.peak_bytes <= memory_; }
  /// It fits and the other does not; or it is faster; or, if neither fits, smaller.
  bool is_better(const MeshPlan& a, const MeshPlan& b) const;

  /// At the highest price of memory; if that does not fit, with everything computed again, if that
  /// is smaller.
  MeshPlan smallest(const MeshPlan& plan) const;

  /// Plans that keep less than one that does not fit: at each level of recomputation up to the
  /// first at which nothing else need be done; before it, at the lowest price of memory, if that
  /// may be faster than `limit_us`. Plans that do not fit are left out.
  std::vector<MeshPlan> fitted(MeshPlan plan, double limit_us) const;

  /// A plan that does not fit is planned again at the lowest price of memory at which it does. Such
  /// a price makes no plan faster, so one that takes `limit_us` without it is left alone. `sums`:
  /// as in MeshWeights.
  void make_fit(MeshPlan& plan, double limit_us, double sums) const;

 private:
  /// The shape at higher levels of recomputation.
  std::vector<MeshShape> keeping_less(MeshShape shape) const;

  const MeshEvaluator& evaluator_;
  const Freedom& freedom_;
  const double memory_;
  const core::StopToken& stop_;
};

}  // namespace soapstone::parallel
