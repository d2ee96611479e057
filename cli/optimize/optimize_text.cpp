// The text of optimize-graph's report, see optimize_report.h.
#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/equivalence/equivalence_report.h"
#include "cli/optimize/optimize_report.h"
#include "cli/reports/rounding_report.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using search::Outcome;

/// Says which graph is kept if the search found nothing better.
std::string kept_text(const search::OptimizeReport& report) {
  if (report.result != search::ResultKind::kBaseline) return "the original is kept";
  if (report.baseline_speedup) {
    const auto& [median, low, high] = *report.baseline_speedup;
    return fmt::format(
        "the baseline is kept, {:.3f}x faster than the original (95 % interval {:.3f} to {:.3f})",
        median, low, high);
  }
  return fmt::format("the baseline is kept, {:.3f}x faster than the original by the cost model",
                     report.baseline_gain.value_or(1));
}

std::string peak_text(std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

/// For objectives other than latency: what became of the peak.
std::string memory_headline(const search::OptimizeReport& report) {
  const std::size_t before = report.memory_before.peak_bytes;
  const std::size_t after = report.memory_after.peak_bytes;
  std::string text;
  if (before > 0)
    text = fmt::format("peak activation memory {} instead of {} ({:+.1f} %), ", peak_text(after),
                       peak_text(before),
                       100 * (static_cast<double>(after) / static_cast<double>(before) - 1));
  if (report.objective == search::ObjectiveKind::kLatencyUnderMemory)
    text +=
        fmt::format("{} the limit of {:.4g} MiB, ", report.is_within_limit() ? "within" : "ABOVE",
                    static_cast<double>(report.peak_limit_bytes) / 1024 / 1024);
  return text;
}

std::string speed_text(const search::OptimizeReport& report) {
  if (report.speedup) {
    return fmt::format("{:.3f}x faster, measured (95 % interval {:.3f} to {:.3f})",
                       report.speedup->median, report.speedup->low, report.speedup->high);
  }
  return fmt::format("{:.3f}x faster by the cost model (not measured)",
                     report.cost_before.total_us / report.cost_after.total_us);
}

/// Says what was kept, and whether a clock has seen it.
std::string interrupted_headline(const search::OptimizeReport& report) {
  if (report.result == search::ResultKind::kOriginal)
    return "interrupted before a better graph was found: the original is kept";
  const double predicted = report.result == search::ResultKind::kBaseline
                               ? report.baseline_gain.value_or(1)
                               : report.cost_before.total_us / report.cost_after.total_us;
  if (!report.is_timed())
    return fmt::format("interrupted; best so far {:.3f}x by the cost model, not timed", predicted);
  const auto& timed =
      report.result == search::ResultKind::kBaseline ? *report.baseline_speedup : *report.speedup;
  return fmt::format(
      "interrupted; best so far {:.3f}x faster, measured (95 % interval {:.3f} to {:.3f})",
      timed.median, timed.low, timed.high);
}

std::string headline(const search::OptimizeReport& report) {
  const bool for_memory = report.objective != search::ObjectiveKind::kLatency;
  switch (report.outcome) {
  case Outcome::kImproved:
    return (for_memory ? memory_headline(report) : std::string()) + speed_text(report);
  case Outcome::kNoGainFound:
    if (for_memory &&
        (report.objective == search::ObjectiveKind::kMemory || !report.is_within_limit()))
      return fmt::format("{}no smaller graph found: {}", memory_headline(report),
                         kept_text(report));
    return fmt::format("no faster graph found: {}", kept_text(report));
  case Outcome::kGainNotReal:
    return fmt::format(
        "no real gain: the cheapest graph found is {:.3f}x when timed (95 % interval {:.3f} to "
        "{:.3f}); {}",
        report.speedup->median, report.speedup->low, report.speedup->high, kept_text(report));
  case Outcome::kNotEquivalent:
    return fmt::format("the rewritten graph computes something else; first after rule: {}",
                       report.offending_rule);
  case Outcome::kInterrupted:
    return interrupted_headline(report);
  }
  return "";
}

std::string latency_text(const std::optional<search::Latency>& latency) {
  if (!latency) return "not measured";
  const cost::Timing& t = latency->timing;
  return fmt::format("{} +-{:.1f} %", time_text(t.median_us),
                     50 * (t.high_us - t.low_us) / t.median_us);
}

/// The memory that was allocated if the model was run, else the planned memory. The two differ only
/// if a kernel deviates from its backend's plan.
std::string memory_text(const runtime::MemoryUse& use,
                        const std::optional<search::Latency>& latency) {
  const bool known = latency && latency->peak_activation_bytes > 0;
  return peak_text(known ? latency->peak_activation_bytes : use.peak_bytes) +
         (use.complete ? "" : " at least");
}

/// No cost knows of operators that are not understood.
std::string estimate_text(const cost::GraphCost& cost, std::size_t opaque_nodes) {
  if (opaque_nodes > 0 && cost.total_us <= 0) return "not known";
  std::string text = time_text(cost.total_us);
  if (cost.estimated_us > 0)
    text += fmt::format(" ({:.0f} % estimated)", 100 * cost.estimated_share());
  return opaque_nodes > 0 ? text + " at least" : text;
}

/// The first line says on what it was timed, if it was.
std::string title(const search::OptimizeReport& report, const jobs::RunSummary& run) {
  if (report.trials) return fmt::format("{}, timed in {}", run.model, report.trials->runtime);
  return run.model + (report.latency_before ? ", timed on our own executor" : "");
}

class Lines {
 public:
  void row(std::string_view label, std::string_view before, std::string_view after) {
    text_ += fmt::format("  {:<24}{:>26}{:>26}\n", label, before, after);
  }
  void line(std::string_view text) { text_ += fmt::format("{}\n", text); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_rules(Lines& lines, const search::OptimizeReport& report) {
  if (!report.simplify.rules_applied.empty()) {
    lines.line("\nbaseline (not counted as gain)");
    for (const auto& [rule, count] : report.simplify.rules_applied) {
      lines.line(fmt::format("  {:<50}{:>6} x", rule, count));
    }
  }
  if (report.rules_applied.empty()) return;
  lines.line("\nrules applied                                        count   predicted gain");
  for (const search::RuleUse& use : report.rules_applied) {
    lines.line(fmt::format("  {:<50}{:>6} {:>14.1f} us", use.rule, use.count, use.gain_us));
  }
}

/// By type, since a rule may be right for one and lose values in another.
void add_left_out(Lines& lines, const jobs::RunSummary& run) {
  std::map<std::string_view, std::vector<std::string_view>> by_type;
  for (const auto& refusal : run.left_out)
    by_type[core::to_string(refusal.type)].push_back(refusal.rule);
  for (const auto& [type, names] : by_type) {
    lines.line(fmt::format("note:   {} rules that match are left out for what they do at the edges "
                           "of {}: {}; {}",
                           names.size(), type, fmt::join(names, ", "),
                           run.rules.strict_ieee ? "without --strict-ieee most are used"
                                                 : "--allow-range-changes uses them"));
  }
}

/// What the result does with NaN and infinities that the original does not, and what was not done
/// for their sake.
void add_specials(Lines& lines, const search::OptimizeReport& report) {
  if (!report.special_changes.empty()) {
    std::vector<std::string> parts;
    for (const search::SpecialChange& change : report.special_changes)
      parts.push_back(fmt::format("{} ({})", change.rule,
                                  change.effects ? to_string(*change.effects) : "not known"));
    lines.line(fmt::format("edges:  on NaN, infinities, zeros of either sign or numbers that "
                           "overflow these rules may give something else: {}; --strict-ieee "
                           "leaves them out",
                           fmt::join(parts, ", ")));
  }
  if (report.left_out_for_specials.empty()) return;
  lines.line(fmt::format(
      "note:   {} rules were left out where the model makes finite numbers of NaN "
      "or infinities, which they would change: {}",
      report.left_out_for_specials.size(), fmt::join(report.left_out_for_specials, ", ")));
}

void add_unproved(Lines& lines, const search::OptimizeReport& report) {
  if (report.unproved_rules == 0) return;
  std::string names;
  for (const std::string& name : report.unproved_rules_applied)
    names += (names.empty() ? ": " : ", ") + name;
  lines.line(fmt::format("\nNOT PROVED: {} rules were loaded without a proof, {} of them applied{}",
                         report.unproved_rules, report.unproved_rules_applied.size(), names));
}

/// Whether someone else has looked at the result; among the first lines, since it is what a reader
/// has to know.
std::string judge_text(const search::OptimizeReport& report) {
  if (report.result == search::ResultKind::kOriginal && report.taken_out.empty()) return {};
  if (!report.judge) return "no independent runtime has looked at the result";
  const search::JudgeReport& judge = *report.judge;
  if (!judge.looked)
    return fmt::format("no independent runtime has looked at the result: {}", judge.reason);
  if (judge.equivalence.equal) {
    return fmt::format("{} computes the same from both files, on {} inputs ({}){}{}", judge.runtime,
                       judge.equivalence.samples, largest_error_text(judge.equivalence),
                       judge.note.empty() ? "" : "; ", judge.note);
  }
  return fmt::format("{} computes something else from the result", judge.runtime);
}

std::string difference_text(const search::Difference& difference) {
  return fmt::format("on {}{} {}", difference.input,
                     difference.output.empty() ? std::string(" it")
                                               : fmt::format(" output {}", difference.output),
                     difference.what);
}

void add_taken_out(Lines& lines, const search::OptimizeReport& report) {
  for (const search::TakenOut& rule : report.taken_out) {
    lines.line(fmt::format("TAKEN OUT: {}rule {}: {} found that after it {}",
                           rule.is_baseline ? "baseline " : "", rule.rule, rule.found_by,
                           difference_text(rule.difference)));
  }
}

void add_equivalence(Lines& lines, const search::OptimizeReport& report) {
  if (!report.equivalence) {
    if (report.result != search::ResultKind::kOriginal)
      lines.line("\nequivalence: NOT CHECKED (--verify off)");
    return;
  }
  lines.line(fmt::format("\nequivalence: {} on {} inputs, {}",
                         report.equivalence->equal ? "equal" : "NOT EQUAL",
                         report.equivalence->samples, largest_error_text(*report.equivalence)));
  for (const search::OutputError& output : report.equivalence->outputs) {
    lines.line(fmt::format("  {:<36} absolute {:.1e}, relative {:.1e}{}", output.name,
                           output.max_abs_error, output.max_rel_error,
                           output.equal ? "" : "  <- differs"));
  }
}

void add_trials(Lines& lines, const search::OptimizeReport& report) {
  if (!report.trials || report.trials->trials.empty()) return;
  lines.line(fmt::format("\ntried in {}, in turn, {:.1f} s", report.trials->runtime,
                         report.trials->wall_s));
  lines.line(fmt::format("  {:<50}{:>6}{:>10}{:>10}{:>18}", "change", "places", "predicted",
                         "measured", "verdict"));
  for (const search::Trial& trial : report.trials->trials) {
    lines.line(fmt::format("  {:<50}{:>6}{:>9.3f}x{:>10}{:>18}{}", trial.what, trial.sites,
                           trial.predicted,
                           trial.is_measured() ? fmt::format("{:.3f}x", trial.measured.median) : "",
                           to_string(trial.verdict), trial.note.empty() ? "" : ": " + trial.note));
  }
}

void add_search(Lines& lines, const search::OptimizeReport& report) {
  const search::SearchResult& found = report.search;
  std::string how;
  if (found.strategy != search::Strategy::kPortfolio)
    how = fmt::format("{}; ", search::to_string(found.strategy));
  if (found.e_nodes > 0) how += fmt::format("{} e-nodes, ", found.e_nodes);
  std::string resumed;
  if (found.regions_resumed > 0)
    resumed = fmt::format(" ({} of them before, as the checkpoint says)", found.graphs_resumed);
  lines.line(fmt::format("\nsearch: {}{} graphs expanded{}, {} of them whole, {} built, "
                         "{:.2f} CPU s; {}",
                         how, found.graphs_expanded, resumed, found.graphs_expanded_whole,
                         found.graphs_built, found.cpu_s, search::to_string(found.stop_reason)));
  if (!found.certificate) return;
  const search::Certificate& certificate = *found.certificate;
  lines.line(fmt::format("optimum: certain in {} of {} regions (all that these rules make of them "
                         "was seen), in {} more among the graphs kept",
                         certificate.optimal, certificate.regions,
                         certificate.cheapest_kept - certificate.optimal));
  lines.line(
      fmt::format("gap:    at most {:.1f} % of the cost to the cheapest graphs kept, {:.1f} % "
                  "at most in a region",
                  100 * certificate.gap, 100 * certificate.largest_gap));
}

/// One line for each graph inside a node.
void add_bodies(Lines& lines, const jobs::RunSummary& run) {
  if (run.bodies.empty()) return;
  lines.line("\nbodies, each as a model of its own");
  for (const jobs::BodyOutcome& body : run.bodies) {
    if (!body.is_improved) {
      lines.line(fmt::format("  {}: left as it was, {}", body.where, body.why_left));
      continue;
    }
    std::string text = fmt::format("  {}: {} instead of {} by the cost model", body.where,
                                   time_text(body.cost_after_us), time_text(body.cost_before_us));
    if (body.runs != 1) text += fmt::format(", run {:.0f} times", body.runs);
    if (body.speedup)
      text += fmt::format(", {:.3f}x faster, measured alone (95 % interval {:.3f} to {:.3f})",
                          body.speedup->median, body.speedup->low, body.speedup->high);
    lines.line(text);
    if (!body.rules.empty()) lines.line(fmt::format("    rules: {}", fmt::join(body.rules, ", ")));
  }
}

/// By reason, the most frequent first: a large graph has hundreds.
void add_refusals(Lines& lines, const search::OptimizeReport& report) {
  if (report.refusals.empty()) return;
  std::map<std::string, std::size_t> counts;
  for (const auto& refusal : report.refusals) ++counts[refusal.reason];
  std::vector<std::pair<std::string, std::size_t>> reasons(counts.begin(), counts.end());
  std::ranges::stable_sort(reasons, std::greater(), &std::pair<std::string, std::size_t>::second);
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons)
    parts.push_back(fmt::format("{} x {}", count, reason));
  lines.line(fmt::format("proofs: for want of one {} rewrites were not tried (--json lists "
                         "them): {}",
                         report.refusals.size(), fmt::join(parts, "; ")));
}

}  // namespace

std::string optimize_text(const jobs::OptimizeOutcome& outcome) {
  const auto& [report, run, explanation] = outcome;
  Lines lines;
  lines.line(fmt::format("{}: {}", title(report, run), headline(report)));
  if (const std::string judged = judge_text(report); !judged.empty()) lines.line(judged);
  add_taken_out(lines, report);
  lines.line("");
  lines.row("", "before", "after");
  const bool elsewhere = report.trials && !run.costs.starts_with(report.trials->runtime);
  lines.row(elsewhere ? "predicted (costs below)" : "predicted latency",
            estimate_text(report.cost_before, report.opaque_nodes),
            estimate_text(report.cost_after, report.opaque_nodes));
  lines.row("measured latency", latency_text(report.latency_before),
            latency_text(report.latency_after));
  lines.row("nodes", fmt::to_string(report.nodes_before), fmt::to_string(report.nodes_after));
  lines.row("launches", fmt::to_string(report.cost_before.launches),
            fmt::to_string(report.cost_after.launches));
  lines.row("peak activation memory", memory_text(report.memory_before, report.latency_before),
            memory_text(report.memory_after, report.latency_after));
  lines.row("weights", peak_text(report.memory_before.weight_bytes),
            peak_text(report.memory_after.weight_bytes));
  if (report.has_limited_weights)
    lines.line(
        fmt::format("weights may have {} at most: what needs more, or copies of shared ones, "
                    "was left out (--max-growth)",
                    peak_text(report.most_weight_bytes)));
  add_trials(lines, report);
  add_rules(lines, report);
  add_unproved(lines, report);
  add_bodies(lines, run);
  add_equivalence(lines, report);
  add_specials(lines, report);
  add_search(lines, report);
  lines.line(fmt::format("rules:  {}", to_string(run.rules)));
  lines.line(fmt::format("costs:  {}", run.costs));
  lines.line(fmt::format("device: {}", run.device));
  if (run.rounding) lines.line(fmt::format("rounding: {}", rounding_text(*run.rounding)));
  lines.line(fmt::format("total:  {:.1f} s, {:.1f} CPU s, {:.0f} MB peak", run.total_wall_s,
                         run.total_cpu_s, run.peak_rss_mb));
  add_refusals(lines, report);
  for (const std::string& note : outcome.notes()) lines.line(fmt::format("note:   {}", note));
  add_left_out(lines, run);
  lines.line(run.output.empty()
                 ? fmt::format("result: not written ({})", run.output_note)
                 : fmt::format("result: {}{}", run.output,
                               run.output_note.empty() ? "" : " (" + run.output_note + ")"));
  return lines.take();
}

}  // namespace soapstone::cli
