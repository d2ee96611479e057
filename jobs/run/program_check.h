// Whether programs of ranks compute the model, seen before they run.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "jobs/base/context.h"
#include "parallel/lowering/rank_program.h"

namespace soapstone::jobs {

/// Whether the programs of the ranks were shown to compute the model, before they ran.
struct ProgramCheck {
  bool is_done = false;
  bool is_too_much = false;  ///< The model takes too many operations.
  std::string why_not;       ///< Where it is not done.
};

/// Operations of a model that are run in the prime field without being asked: about a second.
inline constexpr double kMostCheckedWork = 2e7;

/// Runs the programs in the prime field, if the graph takes few operations. `names`: by tensor.
/// Errors: kInternal if they do not compute the graph.
core::Result<ProgramCheck> check_in_field(const core::Graph& graph,
                                          const std::vector<parallel::RankProgram>& programs,
                                          const std::vector<std::string>& names,
                                          const Context& context,
                                          double most_work = kMostCheckedWork);

}  // namespace soapstone::jobs
