// See derivability.h.
#include "generator/selection/derivability.h"

#include <algorithm>
#include <atomic>

#include "core/base/clock.h"
#include "core/tasks/tasks.h"
#include "generator/sides/rule_instances.h"
#include "rules/checking/complete.h"

namespace soapstone::generator {
namespace {

using rules::Rule;

/// The verdict on one instance.
struct RuleFinding {
  bool finished = false;
  std::optional<Derivability> verdict;
  std::size_t nodes = 0;
  double cpu_ms = 0;
};

RuleFinding derive(const Rule& rule, const rules::SaturationRules& from,
                   const DerivabilityOptions& options, const core::StopToken& stop) {
  RuleFinding finding;
  const double before = core::thread_cpu_ms();
  DerivationLimits limits = options.limits;
  limits.hands_on = true;
  for (const Sides& sides : rule_instances(rule, options.samples, options.seed)) {
    const DerivationReport report =
        derive(sides.source, sides.target, rule.constant_inputs, from, limits, stop);
    finding.nodes = std::max(finding.nodes, report.saturation.nodes);
    finding.verdict = report.derivation;
    if (report.derivation != Derivability::kYes) break;
  }
  finding.cpu_ms = core::thread_cpu_ms() - before;
  finding.finished = !stop.stop_requested();
  return finding;
}

void add(const Rule& rule, const RuleFinding& finding, RuleDerivability& family) {
  ++family.instances;
  family.nodes = std::max(family.nodes, finding.nodes);
  family.cpu_ms += finding.cpu_ms;
  const bool yes = finding.verdict == Derivability::kYes;
  family.derivable += yes ? 1 : 0;
  if (family.instances == 1) family.verdict = finding.verdict;
  if (yes || !family.instance.empty()) return;
  family.instance = rule.name;
  family.verdict = finding.verdict;
}

}  // namespace

std::vector<RuleDerivability> derivability(std::span<const Rule> rules,
                                           const rules::SaturationRules& from,
                                           const DerivabilityOptions& options,
                                           core::ProgressSink& progress,
                                           const core::StopToken& stop) {
  std::vector<RuleFinding> findings(rules.size());
  std::atomic<std::size_t> done = 0;
  core::TaskArena(options.jobs).parallel_for(0, rules.size(), [&](std::size_t k) {
    if (stop.stop_requested()) return;
    findings[k] = derive(rules[k], from, options, stop);
    progress.update(++done, rules.size(), rules[k].base_name);
  });
  std::vector<RuleDerivability> families;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const Rule& rule = rules[k];
    if (!findings[k].finished) break;
    const bool same =
        k > 0 && rules[k - 1].base_name == rule.base_name && rules[k - 1].file == rule.file;
    if (!same) {
      families.emplace_back();
      families.back().rule = rule.base_name;
      families.back().file = rule.file;
      families.back().line = rule.line;
    }
    add(rule, findings[k], families.back());
  }
  return families;
}

core::Result<Rule> reversed(const Rule& rule) {
  Rule turned = rule;
  std::swap(turned.source, turned.target);
  for (core::TensorId id : turned.source.outputs())
    if (!turned.source.tensor(id).producer.valid())
      return core::invalid_input("a result of the target is no result of a node");
  for (core::TensorId id : turned.source.inputs())
    if (turned.source.consumers(id).empty())
      return core::invalid_input("the target does not read all inputs");
  turned.evidence = {};
  return rules::complete(std::move(turned));
}

}  // namespace soapstone::generator
