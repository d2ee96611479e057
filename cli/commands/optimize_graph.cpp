// optimize-graph: finds a faster graph that computes the same, and writes it.
#include <sys/resource.h>

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/explanation_report.h"
#include "cli/optimize_job.h"
#include "cli/optimize_options.h"
#include "cli/optimize_output.h"
#include "cli/optimize_report.h"
#include "cli/run_main.h"
#include "core/base/clock.h"
#include "search/optimize.h"

namespace {

using namespace soapstone;  // NOLINT: a main file

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;  // kilobytes
}

/// What the exit code says once the report is out.
core::Status conclude(const cli::OptimizeArguments& options, const search::OptimizeReport& report) {
  if (report.outcome == search::Outcome::kNotEquivalent) {
    return core::Error{core::ErrorCode::kNotEquivalent,
                       fmt::format("the rewritten model computes something else, first after {}",
                                   report.offending_rule),
                       options.model, "nothing was written; please report it with the model"};
  }
  if (report.outcome == search::Outcome::kInterrupted) {
    return core::Error{core::ErrorCode::kInterrupted,
                       "interrupted: best result so far was kept",
                       options.model,
                       {}};
  }
  if (!report.is_within_limit()) {
    const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / 1024 / 1024; };
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("the peak of activation memory is {:.4g} MiB, "
                                   "--peak-memory-limit asks for {:.4g} MiB",
                                   mib(report.memory_after.peak_bytes),
                                   mib(report.peak_limit_bytes)),
                       options.model, "the result is the smallest that was found"};
  }
  const double speedup =
      report.speedup && report.outcome == search::Outcome::kImproved ? report.speedup->median
      : report.speedup                                               ? 1.0
                       : report.cost_before.total_us / report.cost_after.total_us;
  if (options.require_speedup > 0 && speedup < options.require_speedup) {
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("the speedup is {:.3f}, --require-speedup asks for {:.3f}",
                                   speedup, options.require_speedup),
                       options.model,
                       {}};
  }
  return core::Done{};
}

using Refusals = std::vector<verifier::Admission::LabelRefusal>;

Refusals refused_by_label(const verifier::Admission& baseline, const verifier::Admission& rules) {
  Refusals all = baseline.label_refusals();
  for (auto& refusal : rules.label_refusals()) all.push_back(std::move(refusal));
  return all;
}

/// Whoever names rules wants them; of the shipped ones the report tells.
void log_refused(const Refusals& refusals, const cli::OptimizeArguments& options,
                 cli::Session& session) {
  const bool chosen = !options.rules.files.empty() || !options.rules.only.empty();
  for (const auto& refusal : refusals) {
    session.console.log(chosen ? core::LogLevel::kWarning : core::LogLevel::kInfo,
                        fmt::format("rule {} matches and is left out: {}; --allow-range-changes "
                                    "uses it",
                                    refusal.rule, refusal.reason));
  }
}

core::Status run(const cli::OptimizeArguments& options, cli::Session& session) {
  if (options.list_rules) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto loaded, cli::load_rules(options.rules, session));
    return session.report(cli::rules_text(loaded), cli::rules_json(loaded));
  }
  const auto started = std::chrono::steady_clock::now();
  SOAPSTONE_ASSIGN_OR_RETURN(const cli::OptimizeJob job, cli::prepare(options, session));
  const rules::RuleSet baseline_rules(job.rules.baseline), search_rules(job.rules.search);
  const verifier::AdmissionOptions admission{.allow_unproved = options.rules.allow_unproved,
                                             .allow_range_changes =
                                                 options.rules.allow_range_changes};
  verifier::Admission baseline(baseline_rules, admission), rules(search_rules, admission);
  if (job.trace) job.trace->run_begins(options, job);
  session.keep_results();
  SOAPSTONE_ASSIGN_OR_RETURN(const search::OptimizeReport report,
                             search::optimize(job.model.graph, baseline, rules, *job.cost,
                                              *job.backend, job.optimize, session.console,
                                              session.stop));
  cli::RunSummary summary;
  summary.model = options.model;
  session.console.stage("writing");
  SOAPSTONE_RETURN_IF_ERROR(cli::write_result(options, job, report, summary, session));
  summary.costs = job.cost->description();
  summary.left_out = refused_by_label(baseline, rules);
  log_refused(summary.left_out, options, session);
  summary.device = job.backend->device().key();
  summary.total_cpu_s = core::process_cpu_s();
  summary.total_wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  summary.peak_rss_mb = peak_rss_mb();
  if (job.trace) SOAPSTONE_RETURN_IF_ERROR(job.trace->run_ends(report, summary));
  session.console.finish();
  std::string text = cli::report_text(report, summary);
  nlohmann::ordered_json json = cli::report_json(report, summary);
  if (!options.explain.empty()) {
    const auto explained = cli::explain(report, baseline_rules, search_rules);
    json["explanation"] = cli::explanation_json(explained);
    if (options.explain == "-") {
      text += cli::explanation_text(explained);
    } else {
      SOAPSTONE_RETURN_IF_ERROR(cli::write_explanation(options.explain, explained));
    }
  }
  SOAPSTONE_RETURN_IF_ERROR(session.report(text, json));
  return conclude(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  cli::OptimizeArguments options;
  CLI::App app("Finds a faster graph that computes the same as an ONNX model, and writes it.",
               "optimize-graph");
  cli::add_optimize_options(app, options);
  return cli::run_main(argc, argv, app, options, [&](cli::Session& session) {
    const core::Status usable = options.list_rules ? core::Done{} : cli::check_usage(options);
    if (usable) return run(options, session);
    // --json may name a file that must not be overwritten, not even with the error.
    if (usable.error().code == core::ErrorCode::kUsage && options.json != "-") options.json.clear();
    return usable;
  });
}
