// A lower bound of all steps on meshes of one shape, whatever the cuts: inequalities between the
// time of a step and its parts, and the cuts that cost least under a mixture of them.
#pragma once

#include <vector>

#include "parallel/planning/mesh_evaluation.h"

namespace soapstone::parallel {

/// A step takes no less than its parts, weighted so, and that time in addition.
struct StepInequality {
  StepWeights weights;
  double us = 0;
};

/// Inequalities that hold for a shape with these stages, microbatches and, where `chunks` is more
/// than 1, that many chunks or any other number above 1.
std::vector<StepInequality> step_inequalities(const MeshShape& shape, const StageShares& shares,
                                              bool is_training);

/// No step takes less whose passes are at least these (MeshEvaluator::least_passes).
double least_step_us(const std::vector<StepInequality>& inequalities, const PassesBound& passes);

/// A game: one player mixes inequalities, the other one answers with the cuts that cost least. Any
/// answer says what no step takes less; each further one comes closer to the value of the game.
class ShapeBound {
 public:
  ShapeBound(const MeshShape& shape, std::vector<StepInequality> inequalities);

  const MeshShape& shape() const { return shape_; }
  double us() const { return us_; }
  /// Whether further answers would not raise the bound by much.
  bool is_done() const;
  /// One more answer.
  void raise(const MeshEvaluator& evaluator);

 private:
  StepWeights mixed(double& us) const;
  void solve();

  MeshShape shape_;
  std::vector<StepInequality> inequalities_;
  std::vector<double> mixture_, best_;  ///< To be answered next; that says the most so far.
  /// Holds, by answer and then by inequality, what the inequality says of the cuts that were found.
  std::vector<std::vector<double>> answers_;
  double us_ = 0, most_us_ = kImpossible;  ///< The bound so far, and what it can reach.
};

}  // namespace soapstone::parallel
