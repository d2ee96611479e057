// The exit code of optimize-graph, see optimize_report.h.
#include <fmt/format.h>

#include "cli/optimize/optimize_report.h"

namespace soapstone::cli {
namespace {

std::string interrupt_text(const jobs::OptimizeOutcome& outcome) {
  const search::OptimizeReport& report = outcome.report;
  if (report.result == search::ResultKind::kOriginal)
    return "interrupted before a better graph was found";
  return fmt::format("interrupted: the best graph so far{} was {}",
                     report.is_timed() ? "" : ", which is not timed,",
                     outcome.run.output.empty() ? "not written" : "written");
}

}  // namespace

core::Status conclude_optimize(const jobs::OptimizeOutcome& outcome, double require_speedup) {
  const search::OptimizeReport& report = outcome.report;
  const std::string& model = outcome.run.model;
  if (report.outcome == search::Outcome::kNotEquivalent) {
    return core::Error{core::ErrorCode::kNotEquivalent,
                       fmt::format("the rewritten model computes something else, first after {}",
                                   report.offending_rule),
                       model, "nothing was written; please report it with the model"};
  }
  if (report.outcome == search::Outcome::kInterrupted) {
    return core::Error{core::ErrorCode::kInterrupted, interrupt_text(outcome), model, {}};
  }
  if (!report.is_within_limit()) {
    const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / 1024 / 1024; };
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("the peak of activation memory is {:.4g} MiB, "
                                   "--peak-memory-limit asks for {:.4g} MiB",
                                   mib(report.memory_after.peak_bytes),
                                   mib(report.peak_limit_bytes)),
                       model, "the result is the smallest that was found"};
  }
  const double speedup =
      report.speedup && report.outcome == search::Outcome::kImproved ? report.speedup->median
      : report.speedup || report.trials ? 1.0  // no gain that was measured
                                        : report.cost_before.total_us / report.cost_after.total_us;
  if (require_speedup > 0 && speedup < require_speedup) {
    return core::Error{core::ErrorCode::kRequirementNotMet,
                       fmt::format("the speedup is {:.3f}, --require-speedup asks for {:.3f}",
                                   speedup, require_speedup),
                       model,
                       {}};
  }
  return core::Done{};
}

}  // namespace soapstone::cli
