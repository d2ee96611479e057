// Graphs of a program that a rank runs one behind the other, as one graph: results that only a
// later one of them reads stay where and as kernels like them best.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/result.h"
#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

struct JoinedSteps {
  std::size_t first = 0, count = 1;  ///< Steps of the program.
  std::vector<ComputeStep> parts;    ///< All of them, to be run in this order.
};

/// The runs of neighboring ComputeSteps of a program, in their order. A run ends before a graph
/// that equals its first one, so that the passes of several microbatches stay equal graphs; one
/// that falls apart is a run by itself. Errors: kInvalidInput if a graph of the program is none.
core::Result<std::vector<JoinedSteps>> joined_steps(const RankProgram& program);

}  // namespace soapstone::parallel
