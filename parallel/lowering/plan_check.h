// Whether the programs of ranks compute what the model does: they run in the prime field, all in
// one process, and every element has to be the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

/// A rank's result that is not that of the model.
struct PlanDifference {
  std::int64_t rank = 0;  ///< −1: no rank has the element.
  core::TensorId tensor;  ///< The model's first result that differs.
  core::Dims index;       ///< In the tensor of the model.
};

/// Runs all ranks on random elements of the field (`seed`). None: all results are those of the
/// model, and every element of each is there. Errors: kUnsupported names an operator that has no
/// meaning in the field; kInternal says which rank waits for which other one, if all wait.
core::Result<std::optional<PlanDifference>> check_programs(const core::Graph& graph,
                                                           const std::vector<RankProgram>& programs,
                                                           std::uint64_t seed);

/// Whether all ranks come to their end: what one waits for is sent by another one, in that order
/// and with as many elements, and all ranks of a group come to its reductions. Computes nothing, so
/// that it takes no time that depends on sizes. Errors: kInternal says which rank waits, or what
/// does not fit.
core::Status check_exchanges(const std::vector<RankProgram>& programs);

}  // namespace soapstone::parallel
