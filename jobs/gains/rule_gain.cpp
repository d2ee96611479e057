// See rule_gain.h.
#include "jobs/gains/rule_gain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jobs/gains/realistic_sizes.h"
#include "ops/definition/by_role.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::TensorId;
using rules::Rule;

constexpr double kLeastGain = 0.005;

/// Cost models need no values, and a runtime must not know one that leaves x · w as it is.
constexpr double kWeight = 3;

/// The side with some inputs replaced by constants.
core::Result<Graph> with_constants(const Graph& side, const std::vector<bool>& constant) {
  core::GraphBuilder builder(side);
  for (std::size_t k = 0; k < constant.size(); ++k) {
    const TensorId input = side.inputs()[k];
    if (!constant[k]) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(const TensorId value,
                               ops::append_filled(builder, side.tensor(input).type.shape, kWeight));
    builder.replace_uses(input, value);
  }
  return std::move(builder).finish();
}

std::optional<Trial> make_trial(const SizedRule& sized, const std::vector<bool>& constant) {
  auto source = with_constants(sized.rule.source, constant);
  auto target = with_constants(sized.rule.target, constant);
  if (!source || !target) return std::nullopt;
  Trial trial{sized.rule.name, sized.sizes, {}, *std::move(source), *std::move(target)};
  for (std::size_t k = 0; k < constant.size(); ++k)
    if (constant[k])
      trial.constants.push_back(sized.rule.source.tensor(sized.rule.source.inputs()[k]).name);
  return trial;
}

struct SideCost {
  double cost_us = 0, spread_us = 0;
  bool estimated = false;
};

SideCost cost_of(const Graph& side, cost::CostModel& costs) {
  SideCost total;
  for (const cost::CostModel::Item& item : costs.breakdown(side)) {
    total.cost_us += item.cost.cost_us;
    total.spread_us += item.cost.spread_us;
    total.estimated = total.estimated || item.cost.estimated;
  }
  return total;
}

std::string sizes_text(const Trial& trial) {
  std::vector<std::string> sizes;
  for (const auto& [name, value] : trial.sizes) sizes.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(sizes, ", "));
}

}  // namespace

std::string_view to_string(GainKind kind) {
  switch (kind) {
  case GainKind::kNone:
    return "none";
  case GainKind::kRoofline:
    return "roofline";
  case GainKind::kMeasured:
    return "measured";
  }
  return "";
}

std::vector<Trial> trials(std::span<const Rule> instances, const GainOptions& options) {
  std::vector<Trial> all;
  const std::size_t count = std::min(options.instances, instances.size());
  for (std::size_t i = 0; i < count; ++i) {
    // The last first: instances ascend in rank, and networks have few scalars.
    const Rule& rule = instances[instances.size() - 1 - i * instances.size() / count];
    for (const SizedRule& sized : at_realistic_sizes(rule, options.sizes, options.seed)) {
      const auto usual = weight_inputs(sized.rule, Weights::kUsually);
      const auto always = weight_inputs(sized.rule, Weights::kAlways);
      if (auto trial = make_trial(sized, usual)) all.push_back(*std::move(trial));
      if (usual == always) continue;
      if (auto trial = make_trial(sized, always)) all.push_back(*std::move(trial));
    }
  }
  return all;
}

double RuleGain::speedup() const {
  return target_us > 0 ? source_us / target_us : std::numeric_limits<double>::infinity();
}

bool RuleGain::pays() const {
  return source_us - target_us > std::max(spread_us, kLeastGain * source_us);
}

PairCosts pair_costs(cost::CostModel& costs) {
  return [&costs](const Trial& trial) -> core::Result<std::optional<PairCost>> {
    const SideCost source = cost_of(trial.source, costs);
    if (source.cost_us == 0) return std::optional<PairCost>();
    const SideCost target = cost_of(trial.target, costs);
    return std::optional(PairCost{source.cost_us, target.cost_us,
                                  source.spread_us + target.spread_us,
                                  source.estimated || target.estimated});
  };
}

core::Result<RuleGain> best_gain(std::span<const Rule> instances, const PairCosts& costs,
                                 const GainOptions& options) {
  RuleGain best;
  std::vector<Trial> all = trials(instances, options);
  best.trials = all.size();
  for (Trial& trial : all) {
    if (options.stop != nullptr && options.stop->stop_requested()) break;
    SOAPSTONE_ASSIGN_OR_RETURN(const auto pair, costs(trial));
    if (!pair) continue;
    RuleGain gain{all.size(),      std::move(trial), pair->source_us,
                  pair->target_us, pair->spread_us,  pair->estimated};
    if (!best.has_cost() || gain.speedup() > best.speedup()) best = std::move(gain);
  }
  return best;
}

std::string gain_text(const RuleGain& gain, std::string_view costs) {
  if (gain.trials == 0) return "not costed: no realistic sizes fit";
  if (!gain.has_cost()) return "enables others: views or weights alone, which cost nothing";
  const std::string speedup =
      std::isinf(gain.speedup()) ? "leaves nothing to run" : fmt::format("{:.2f}x", gain.speedup());
  if (!gain.pays()) return fmt::format("enables others: {} at best ({})", speedup, costs);
  const std::string at = gain.trial.sizes.empty() ? "" : " at " + sizes_text(gain.trial);
  const std::string weights = gain.trial.constants.empty() ? "" : ", weights constant";
  return fmt::format("pays: {}{}{} ({})", speedup, at, weights, costs);
}

}  // namespace soapstone::jobs
