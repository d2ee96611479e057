// See simulate_described.h.
#include "jobs/plan/simulate_described.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/file_io.h"
#include "core/base/nearest.h"
#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

using parallel::DescribedOutcome;
using parallel::DescribedPlan;

core::Result<std::vector<DescribedPlan>>
read_described_plans(const SimulateDescribedRequest& request) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(request.simulate));
  auto plans = parallel::described_plans_from_json(text);
  if (!plans) return plans.error().at(request.simulate);
  if (request.only.empty()) return plans;
  const auto wanted = std::ranges::find(*plans, request.only, &DescribedPlan::id);
  if (wanted != plans->end()) return std::vector{*wanted};
  std::vector<std::string> ids;
  for (const DescribedPlan& plan : *plans) ids.push_back(plan.id);
  const std::string meant = core::nearest(request.only, ids);
  return usage_error(
      fmt::format("`only`: no plan of {} has the id '{}'", request.simulate, request.only),
      meant.empty() ? fmt::format("there are {}", fmt::join(ids, ", "))
                    : fmt::format("did you mean '{}'?", meant));
}

core::Result<parallel::Profiles> read_profiles(const SimulateDescribedRequest& request) {
  std::string path = request.profiles;
  if (path.empty()) {
    path = (std::filesystem::path(request.simulate).parent_path() / "profiles.json").string();
    if (!std::filesystem::exists(path))
      return usage_error(fmt::format("there are no `profiles`: {} is not there", path),
                         "name the file of the profiles that were measured in `profiles`");
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(path));
  auto profiles = parallel::profiles_from_json(text);
  if (!profiles) return profiles.error().at(path);
  return profiles;
}

/// A replica's GPUs on a stage are taken to have a node for themselves.
void warn_of_nodes(const DescribedPlan& plan, const Context& context) {
  const auto needed = static_cast<std::int64_t>(plan.replicas() * plan.stages.size());
  if (plan.nodes == 0 || plan.nodes == needed) return;
  context.progress.log(core::LogLevel::kWarning,
                       fmt::format("plan '{}' has {} nodes: it is simulated on {}, one for each "
                                   "replica of each stage",
                                   plan.id, plan.nodes, needed));
}

}  // namespace

core::Result<std::vector<DescribedOutcome>>
simulate_described(const SimulateDescribedRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) -> core::Result<std::vector<DescribedOutcome>> {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto plans, read_described_plans(request));
    SOAPSTONE_ASSIGN_OR_RETURN(const parallel::Profiles profiles, read_profiles(request));
    std::vector<DescribedOutcome> outcomes;
    inner.progress.stage("simulating");
    for (const DescribedPlan& plan : plans) {
      SOAPSTONE_RETURN_IF_ERROR(inner.check_interrupt());
      warn_of_nodes(plan, inner);
      auto outcome = parallel::simulate_described(plan, profiles);
      if (!outcome)
        return outcome.error().at(fmt::format("plan '{}'", plan.id)).at(request.simulate);
      if (plans.size() > 1) outcome->step = {};
      outcomes.push_back(*std::move(outcome));
      inner.progress.update(outcomes.size(), plans.size(), plan.id);
    }
    return outcomes;
  });
}

}  // namespace soapstone::jobs
