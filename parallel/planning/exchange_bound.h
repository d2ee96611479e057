// A lower bound of a step that counts what must be exchanged: the least that any shape of a mesh
// admits. Knows shapes, and asks MeshEvaluator what cuts cost.
#pragma once

#include <cstdint>

#include "core/base/progress.h"
#include "parallel/planning/mesh_evaluation.h"

namespace soapstone::parallel {

struct ExchangeBoundOptions {
  double enough_us = kImpossible;   ///< A bound of so much need not be raised.
  std::int64_t most_shardings = 0;  ///< So many may be looked for.
  int threads = 1;                  ///< Changes nothing but the time it takes; 0: all cores.
};

/// Branch and bound: shapes whose bound is the least so far are looked at more closely, groups of
/// shapes first. Holds for every plan whose axes cut what those of the strategy `best` may cut, of
/// any sizes, whether or not it fits; 0 where nothing is known, as of parts and exchanges that were
/// measured.
double least_step_us(const MeshEvaluator& evaluator, const ExchangeBoundOptions& options,
                     const core::StopToken& stop);

/// The bound of a plan that was made with that freedom. It holds for every plan that `best` or a
/// strategy with a name can make, of whatever sizes. Bisection cuts along three axes what `best`
/// cuts along one at a time: where it may be used, the bound leaves out what must be exchanged.
StepBound bound_of_plan(const MeshEvaluator& evaluator, const Freedom& freedom, double plan_us,
                        int threads, const core::StopToken& stop);

}  // namespace soapstone::parallel
