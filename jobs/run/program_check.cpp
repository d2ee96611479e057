// See program_check.h.
#include "jobs/run/program_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/analysis/analysis.h"
#include "parallel/lowering/plan_check.h"

namespace soapstone::jobs {
namespace {

double work_of_model(const core::Graph& graph) {
  double work = 0;
  for (const core::NodeId id : graph.order()) work += ops::work_of(graph, id).flops;
  return work;
}

}  // namespace

core::Result<ProgramCheck> check_in_field(const core::Graph& graph,
                                          const std::vector<parallel::RankProgram>& programs,
                                          const std::vector<std::string>& names,
                                          const Context& context, double most_work) {
  if (const double work = work_of_model(graph); work > most_work)
    return ProgramCheck{
        false, true,
        fmt::format("the model takes {:.2g} operations, more than {:.2g}", work, most_work)};
  context.progress.stage("checking the programs in the prime field");
  const auto difference = parallel::check_programs(graph, programs, 1);
  if (!difference && difference.error().code == core::ErrorCode::kUnsupported)
    return ProgramCheck{false, false, difference.error().to_string()};
  if (!difference) return difference.error();
  if (!*difference) return ProgramCheck{true, false, {}};
  const parallel::PlanDifference& first = **difference;
  const std::string who =
      first.rank < 0 ? "no rank has" : fmt::format("rank {} has another", first.rank);
  return core::Error{
      core::ErrorCode::kInternal,
      fmt::format("the programs of the ranks do not compute the model: {} element [{}] of '{}'",
                  who, fmt::join(first.index, ", "), names[first.tensor.index()]),
      {},
      "this is a fault of soapstone: please report it with the plan and the model"};
}

}  // namespace soapstone::jobs
