// See cost_rules.h.
#include "jobs/gains/cost_rules.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "jobs/base/guard.h"
#include "jobs/base/usage_error.h"
#include "jobs/gains/gain_costs.h"
#include "jobs/rules/rule_equation.h"
#include "jobs/rules/rule_library.h"
#include "rules/rule/families.h"

namespace soapstone::jobs {
namespace {

core::Result<runtime::Executable>
executable(const core::Graph& side, const CostRulesRequest& request, runtime::Backend& backend) {
  SOAPSTONE_ASSIGN_OR_RETURN(
      auto made, runtime::Executable::make(side, backend, {.fusion = request.device.fusion}));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto ignored,
                             made.run(runtime::random_inputs(side, request.seed)));
  (void)ignored;
  return made;
}

/// Both sides in turn, whole. None if a side does not run there.
core::Result<std::optional<cost::Comparison>> timed(const Trial& trial,
                                                    const CostRulesRequest& request,
                                                    const GainCosts& costs,
                                                    const core::StopToken& stop) {
  if (costs.clock)
    return costs.clock->compare(trial.source, trial.target, {request.rounds, request.time_s, {}},
                                stop);
  auto source = executable(trial.source, request, *costs.backend);
  auto target = executable(trial.target, request, *costs.backend);
  if (!source || !target) return std::optional<cost::Comparison>();
  SOAPSTONE_ASSIGN_OR_RETURN(
      const cost::Comparison comparison,
      cost::compare_and_time(*source, *target, request.rounds, request.time_s * 1e6, stop));
  return std::optional(comparison);
}

core::Result<std::vector<CostedRule>> cost_all(const std::vector<rules::Rule>& all,
                                               const CostRulesRequest& request,
                                               const GainCosts& costs, const Context& context) {
  std::vector<CostedRule> rows;
  const GainOptions gain = gain_options(costs, request.seed, context.stop);
  const PairCosts pairs = costs.pairs(context.stop);
  std::size_t done = 0;
  for (const std::span<const rules::Rule> instances : rules::families(all)) {
    context.progress.update(done, all.size(), instances.front().base_name);
    done += instances.size();
    CostedRule row{instances.front().base_name, {}, instances.size(), {}, {}};
    SOAPSTONE_ASSIGN_OR_RETURN(row.gain, best_gain(instances, pairs, gain));
    const auto shown = std::ranges::find(instances, row.gain.trial.instance, &rules::Rule::name);
    row.equation = equation_text(shown == instances.end() ? instances[0] : *shown);
    if (request.time && row.gain.pays()) {
      SOAPSTONE_ASSIGN_OR_RETURN(row.timed, timed(row.gain.trial, request, costs, context.stop));
    }
    SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
    rows.push_back(std::move(row));
  }
  return rows;
}

core::Result<CostRulesOutcome> cost_rules_unguarded(const CostRulesRequest& request,
                                                    const Context& context) {
  if (request.time && request.costs != GainKind::kMeasured)
    return usage_error("`time` runs kernels, which a roofline has not", "set `costs` to measured");
  std::vector<rules::Rule> all;
  for (const std::string& file : request.files) {
    context.progress.stage("reading " + file);
    SOAPSTONE_ASSIGN_OR_RETURN(auto contents, read_rule_file(file));
    std::ranges::move(contents.rules, std::back_inserter(all));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto costs, make_gain_costs({request.costs, request.device, request.runtime}, context));
  context.progress.stage("costing");
  CostRulesOutcome outcome{{}, costs.name, costs.description()};
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.rules, cost_all(all, request, costs, context));
  return outcome;
}

}  // namespace

core::Result<CostRulesOutcome> cost_rules(const CostRulesRequest& request, const Context& context) {
  return guarded(context,
                 [&](const Context& inner) { return cost_rules_unguarded(request, inner); });
}

}  // namespace soapstone::jobs
