// See optimize.h.
#include "jobs/optimize/optimize.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/machine_load.h"
#include "core/base/memory_limit.h"
#include "jobs/base/guard.h"
#include "jobs/optimize/bodies.h"
#include "jobs/optimize/open_result.h"
#include "jobs/optimize/optimize_job.h"
#include "jobs/optimize/optimize_output.h"
#include "jobs/rules/kept_proofs.h"
#include "ops/composites/composite.h"

namespace soapstone::jobs {
namespace {

using SteadyClock = std::chrono::steady_clock;
using LabelRefusals = std::vector<verifier::Admission::LabelRefusal>;

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;  // kilobytes
}

/// `saturates_alone`: no strategy uses rules but in e-graphs. Else what is left out of these alone
/// is used elsewhere.
LabelRefusals refused_by_label(const verifier::Admission& baseline,
                               const verifier::Admission& rules, bool saturates_alone) {
  LabelRefusals all = baseline.label_refusals();
  for (auto& refusal : rules.label_refusals()) all.push_back(std::move(refusal));
  std::erase_if(all, [&](const auto& refusal) {
    return refusal.use == verifier::RuleUse::kBothWays && !saturates_alone;
  });
  return all;
}

/// A caller who names rules wants them, so leaving one out is worth a warning; of the shipped ones
/// the report tells.
void log_refused(const LabelRefusals& refusals, const OptimizeRequest& request,
                 const std::vector<rules::Rule>& rules, const Context& context) {
  std::set<std::string> files(request.rules.files.begin(), request.rules.files.end());
  files.insert(request.rules.only_files.begin(), request.rules.only_files.end());
  std::set<std::string> own;
  for (const rules::Rule& rule : rules)
    if (files.contains(rule.file.string())) own.insert(rule.base_name);
  for (const auto& refusal : refusals) {
    const bool is_wanted = !request.rules.only.empty() || own.contains(refusal.rule);
    context.progress.log(is_wanted ? core::LogLevel::kWarning : core::LogLevel::kInfo,
                         fmt::format("rule {} matches and is left out, as range changes are not "
                                     "allowed: {}",
                                     refusal.rule, refusal.reason));
  }
}

/// Of the result, beside the original. A model that cannot be compared is no reason to lose the
/// result.
void add_rounding(const OptimizeRequest& request, OptimizeJob& job, OptimizeOutcome& outcome,
                  const Context& context) {
  context.progress.stage("measuring the rounding error");
  std::span<const std::vector<core::Literal>> inputs;
  if (job.optimize.verify) inputs = job.optimize.verify->inputs;
  auto error =
      measure_rounding({job.model.graph, *job.backend}, {outcome.report.graph, *job.rounding},
                       request.device.fusion, request.seed, inputs);
  if (!error) {
    outcome.run.notes.push_back(
        fmt::format("the rounding error was not measured: {}", error.error().to_string()));
    return;
  }
  error->precision = request.device.precision;
  count_rounded(job.cost->breakdown(ops::expanded(outcome.report.graph)), *error);
  outcome.run.rounding = *std::move(error);
}

/// Such weights are no constants, so that less can be done with them.
void note_default_inputs(const models::OnnxModel& model, RunSummary& run) {
  const auto has_value = [](const core::LiteralPtr& value) { return value != nullptr; };
  const auto count = std::ranges::count_if(model.defaults, has_value);
  if (count == 0) return;
  const auto first = std::ranges::find_if(model.defaults, has_value) - model.defaults.begin();
  const core::TensorId id = model.graph.inputs()[static_cast<std::size_t>(first)];
  run.notes.push_back(fmt::format(
      "{} inputs have a default value and stay inputs, first {}; --fold-default-inputs makes "
      "constants of them, of which more can be made",
      count, model.graph.tensor(id).name));
}

/// Half of it is for the bodies.
void share_time(OptimizeJob& job) {
  job.optimize.search.time_s /= 2;
  job.optimize.trials.time_s /= 2;
}

core::Result<OptimizeOutcome> optimize_unguarded(const OptimizeRequest& request,
                                                 const Context& context) {
  const auto started = SteadyClock::now();
  const auto load_before = core::sample_load();
  SOAPSTONE_ASSIGN_OR_RETURN(OptimizeJob job, prepare(request, context));
  if (has_bodies(job.model)) share_time(job);
  keep_sizes_open(request, job, context);
  const rules::RuleSet baseline_rules(job.rules.baseline);
  KeptProofs kept(context.progress);
  const verifier::AdmissionOptions admission{.allow_unproved = request.rules.allow_unproved,
                                             .allow_range_changes =
                                                 request.rules.allow_range_changes,
                                             .strict_ieee = request.rules.strict_ieee,
                                             .memory = &kept};
  verifier::Admission baseline(baseline_rules, admission);
  baseline.stop_proofs_when([&context] { return context.stop.stop_requested(); });
  const rules::RuleSet search_rules(job.rules.search);
  verifier::Admission rules(search_rules, admission);
  core::give_back_freed_memory();  // reading thousands of rules leaves much
  if (job.trace) job.trace->run_begins(request, job);
  // Before the first gain there is nothing that an interrupt could lose, but for a checkpoint.
  if (job.checkpoint) context.announce_results();
  job.optimize.search.found_gain = [&context] { context.announce_results(); };
  OptimizeOutcome outcome;
  auto report = search::optimize(job.model.graph, baseline, rules, *job.cost, *job.backend,
                                 job.optimize, context.progress, context.stop);
  if (!report)
    return report.error().where.empty() ? report.error().at(request.model) : report.error();
  outcome.report = *std::move(report);
  RunSummary& run = outcome.run;
  run.model = request.model;
  context.progress.stage("writing");
  SOAPSTONE_RETURN_IF_ERROR(write_result(request, job, outcome.report, run, context));
  SOAPSTONE_RETURN_IF_ERROR(optimize_bodies(request, job, outcome.report, run, context));
  run.costs = job.cost->description();
  run.left_out =
      refused_by_label(baseline, rules, request.search.strategy == search::Strategy::kEqsat);
  log_refused(run.left_out, request, job.rules.search, context);
  run.device = job.timing().device().key();
  run.rules = request.rules;
  note_default_inputs(job.model, run);
  if (job.rounding) add_rounding(request, job, outcome, context);
  const auto load_after = core::sample_load();
  if (load_before && load_after) run.load = core::load_between(*load_before, *load_after);
  const bool has_timed_costs =
      !request.has_own_costs() && request.target.empty() &&
      (request.costs == CostKind::kMeasured || request.costs == CostKind::kRuntime);
  if (run.load && run.load->is_busy() && (job.optimize.measure || has_timed_costs))
    run.notes.push_back(fmt::format(
        "the machine was busy: other work used {:.1f} processors and left {:.1f} idle, so times "
        "that were measured may be too long",
        run.load->others, run.load->idle));
  run.total_cpu_s = core::process_cpu_s();
  run.total_wall_s = std::chrono::duration<double>(SteadyClock::now() - started).count();
  run.peak_rss_mb = peak_rss_mb();
  if (job.trace) SOAPSTONE_RETURN_IF_ERROR(job.trace->run_ends(outcome.report, run));
  if (!request.explain) return outcome;
  outcome.explanation = explain(outcome.report, baseline_rules, search_rules);
  for (BodyOutcome& body : run.bodies)
    if (body.is_improved && body.explanation)
      outcome.explanation->bodies.push_back({body.where, *body.explanation});
  return outcome;
}

}  // namespace

core::Result<OptimizeOutcome> optimize(const OptimizeRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) { return optimize_unguarded(request, inner); });
}

}  // namespace soapstone::jobs
