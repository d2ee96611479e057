// Placement problems at random, for tests that hold two ways to the same result against each other.
#pragma once

#include <random>

#include "parallel/simulation/problem.h"

namespace soapstone::parallel {

struct RandomProblemSize {
  std::size_t nodes = 2, per_node = 2, operators = 8, most_samples = 4, most_outputs = 2;
};

/// Some operators share weights, some have none; with two kinds of devices now and then.
PlacementProblem random_problem(std::mt19937& random, const RandomProblemSize& size);
Placement random_placement(std::mt19937& random, const PlacementProblem& problem);

}  // namespace soapstone::parallel
