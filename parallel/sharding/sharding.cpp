#include "parallel/sharding/sharding.h"

#include "parallel/sharding/sharding_problem.h"

namespace soapstone::parallel {

Sharding best_sharding(const ShardingContext& context, CostTables& tables) {
  ShardingProblem problem(context, tables);
  return problem.sharding_of(least_assignment(problem.costs(), tables, problem.elimination()));
}

}  // namespace soapstone::parallel
