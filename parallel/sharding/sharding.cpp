#include "parallel/sharding/sharding.h"

#include "parallel/sharding/sharding_problem.h"

namespace soapstone::parallel {

double sum_of(const StepWeights& weights, const StepParts& parts) {
  double us = weights.gathered * parts.gathered_us +
              weights.exchanged_backward * parts.exchanged_backward_us +
              weights.sums * parts.summed_us + weights.updates * parts.updated_us;
  for (std::size_t p = 0; p < parts.passes.size(); ++p) {
    const double share = weights.positions.empty() ? 1 : weights.positions[p];
    us += share * (weights.forward * parts.passes[p].forward_us +
                   weights.backward * parts.passes[p].backward_us);
  }
  return us;
}

PartTime passes_of(const NodeCost& node, const PartTime& computed, bool runs_again) {
  const double forward_us = computed.forward_us + node.forward_conversion_us;
  return {forward_us,
          (runs_again ? forward_us : 0) + computed.backward_us + node.backward_conversion_us};
}

Sharding best_sharding(const ShardingContext& context, CostTables& tables) {
  ShardingProblem problem(context, tables);
  return problem.sharding_of(least_assignment(problem.costs(), tables, problem.elimination()));
}

}  // namespace soapstone::parallel
