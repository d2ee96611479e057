// See run_report.h.
#include "cli/run/run_report.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "core/base/check.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;
using parallel::ExchangeFigures;
using parallel::RankFigures;

constexpr std::size_t kMostExchangesShown = 5, kMostResultsShown = 8;

/// All exchanges of one kind together.
struct KindFigures {
  std::int64_t count = 0;
  double bytes = 0, us = 0;
};

std::map<std::string, KindFigures> by_kind(const std::vector<ExchangeFigures>& exchanges) {
  std::map<std::string, KindFigures> kinds;
  for (const ExchangeFigures& exchange : exchanges) {
    KindFigures& kind = kinds[std::string(to_string(exchange.kind))];
    kind.count += exchange.count;
    kind.bytes += exchange.bytes;
    kind.us += exchange.us;
  }
  return kinds;
}

double mean_idle_share(const std::vector<RankFigures>& ranks) {
  double sum = 0;
  for (const RankFigures& rank : ranks) sum += rank.idle_share;
  return ranks.empty() ? 0 : sum / static_cast<double>(ranks.size());
}

/// The first and the last loss, and what else there is to say of a run that trains.
std::string losses_text(const jobs::RunPlanOutcome& outcome) {
  std::string text;
  if (!outcome.losses.empty())
    text += fmt::format("  loss       {:.6g} in step {}, {:.6g} in step {}\n",
                        outcome.losses.front(), outcome.steps_before + 1, outcome.losses.back(),
                        outcome.steps_before + static_cast<std::int64_t>(outcome.losses.size()));
  if (!outcome.uncut.empty())
    text += fmt::format(
        "  not cut    {}: its parts would have to exchange something in between{}\n",
        outcome.uncut.front(),
        outcome.uncut.size() == 1 ? "" : fmt::format(" (and {} more)", outcome.uncut.size() - 1));
  return text;
}

std::string exchanges_text(const std::vector<ExchangeFigures>& exchanges) {
  if (exchanges.empty()) return "nothing is exchanged\n";
  Table table(
      {{"exchange"}, {"times", Align::kRight}, {"bytes", Align::kRight}, {"time", Align::kRight}});
  for (const auto& [kind, figures] : by_kind(exchanges))
    table.add_row(
        {kind, fmt::to_string(figures.count), bytes_text(figures.bytes), time_text(figures.us)});
  std::vector<const ExchangeFigures*> longest;
  for (const ExchangeFigures& exchange : exchanges) longest.push_back(&exchange);
  std::ranges::stable_sort(longest, std::greater(), &ExchangeFigures::us);
  longest.resize(std::min(longest.size(), kMostExchangesShown));
  for (const ExchangeFigures* const exchange : longest)
    table.add_row({fmt::format("  {} of {}", to_string(exchange->kind), exchange->tensor),
                   fmt::to_string(exchange->count), bytes_text(exchange->bytes),
                   time_text(exchange->us)});
  return table.to_string();
}

std::string ranks_text(const jobs::RunPlanOutcome& outcome) {
  Table table({{"rank"},
               {"computes", Align::kRight},
               {"exchanges", Align::kRight},
               {"waits", Align::kRight},
               {"idle", Align::kRight},
               {"memory", Align::kRight}});
  for (std::size_t r = 0; r < outcome.figures.ranks.size(); ++r) {
    const RankFigures& rank = outcome.figures.ranks[r];
    table.add_row({fmt::to_string(r), time_text(rank.compute_us), time_text(rank.exchange_us),
                   time_text(rank.wait_us), percent_text(rank.idle_share),
                   bytes_text(outcome.peak_bytes[r])});
  }
  return table.to_string();
}

std::string result_text(const jobs::CheckedResult& result) {
  if (result.different == 0) return "the bits of one device";
  return fmt::format("{} of {} elements have other bits, {} the tolerance (largest error {:.3g}, "
                     "relative {:.3g}){}",
                     result.different, result.elements,
                     result.is_within ? "all within" : "some beyond", result.max_abs_error,
                     result.max_rel_error,
                     result.has_cut_sums
                         ? "; a sum is cut"
                         : "; no sum is cut, but kernels of other shapes may add in another order");
}

/// Results that agree with those of one device, where they are many.
std::string left_out_text(const jobs::RunPlanOutcome& outcome, std::size_t count) {
  std::size_t with_bits = 0;
  double worst = 0;
  for (const jobs::CheckedResult& result : outcome.results)
    if (result.is_equal() && result.different == 0)
      ++with_bits;
    else if (result.is_equal())
      worst = std::max(worst, result.max_abs_error);
  return fmt::format("{}: {} with the bits of one device, {} within the tolerance (largest error "
                     "{:.3g})\n",
                     counted(count, "result"), with_bits, count - with_bits, worst);
}

std::string check_text(const jobs::RunPlanOutcome& outcome) {
  std::string text = outcome.program_check.is_done
                         ? "programs: they compute the model, as a run in the prime field shows\n"
                         : fmt::format("programs: not checked before they ran: {}\n",
                                       outcome.program_check.why_not);
  std::size_t left_out = 0;
  for (const jobs::CheckedResult& result : outcome.results) {
    const bool is_shown = !result.is_equal() || outcome.results.size() <= kMostResultsShown;
    if (is_shown)
      text += fmt::format("result {}: {}\n", result.name, result_text(result));
    else
      ++left_out;
  }
  if (left_out > 0) text += left_out_text(outcome, left_out);
  return text;
}

ordered_json result_json(const jobs::CheckedResult& result) {
  ordered_json json = {{"name", result.name},
                       {"elements", result.elements},
                       {"different_bits", result.different},
                       {"sums_are_cut", result.has_cut_sums},
                       {"within_tolerance", result.is_within},
                       {"max_abs_error", result.max_abs_error},
                       {"max_rel_error", result.max_rel_error}};
  if (const auto& first = result.difference)
    json["difference"] = {{"rank", first->rank},
                          {"index", first->index},
                          {"expected", first->expected},
                          {"actual", first->actual}};
  return json;
}

}  // namespace

std::string run_plan_text(const jobs::RunPlanOutcome& outcome) {
  const parallel::PlanDocument& plan = outcome.plan;
  std::string text = fmt::format(
      "{} of {}, strategy {}, on {} {} of {}\n",
      counted(static_cast<std::uint64_t>(plan.devices), "rank"), plan.topology, plan.strategy,
      outcome.is_virtual ? "threads" : "processes", "with the backend", outcome.device);
  text += fmt::format("  step       {} (a low quantile of {}; the middle half is {} wide)\n",
                      time_text(outcome.low_us), counted(outcome.step_us.size(), "run"),
                      time_text(outcome.spread_us));
  text += fmt::format("  {:9}  {} ({:.2f} of what was measured)\n",
                      plan.rehearsed ? "rehearsed" : "simulated", time_text(plan.foretold_us()),
                      plan.foretold_us() / outcome.low_us);
  text += losses_text(outcome);
  text += fmt::format("  idle       {} on average\n",
                      percent_text(mean_idle_share(outcome.figures.ranks)));
  const double most = *std::ranges::max_element(outcome.peak_bytes);
  text += fmt::format("  memory     {} on the fullest rank; foretold were {}\n", bytes_text(most),
                      bytes_text(plan.foretold_bytes()));
  if (static_cast<std::size_t>(plan.devices) > outcome.cores)
    text += fmt::format("  {} ranks share {}: times say little\n", plan.devices,
                        counted(outcome.cores, "core"));
  if (outcome.reference_kernels > 0)
    text += fmt::format("  reference  slow kernels run {}, such as {}\n",
                        counted(outcome.reference_kernels, "node"), outcome.reference_kernel);
  return fmt::format("{}\n{}\n{}\n{}", text, exchanges_text(outcome.figures.exchanges),
                     ranks_text(outcome), check_text(outcome));
}

std::string run_plan_json(const jobs::RunPlanOutcome& outcome) {
  const parallel::PlanDocument& plan = outcome.plan;
  ordered_json json = {{"devices", plan.devices},
                       {"topology", plan.topology},
                       {"strategy", plan.strategy},
                       {"ranks_are", outcome.is_virtual ? "threads" : "processes"},
                       {"device", outcome.device},
                       {"cores", outcome.cores},
                       {"steps", outcome.step_us.size()},
                       {"step_us", outcome.low_us},
                       {"spread_us", outcome.spread_us},
                       {"simulated_us", plan.foretold_us()},
                       {"was_rehearsed", plan.rehearsed.has_value()},
                       {"idle_share", mean_idle_share(outcome.figures.ranks)},
                       {"peak_memory_mb", *std::ranges::max_element(outcome.peak_bytes) / 1e6},
                       {"foretold_memory_mb", plan.foretold_bytes() / 1e6},
                       {"reference_kernels", outcome.reference_kernels},
                       {"programs_are_checked", outcome.program_check.is_done}};
  if (!outcome.program_check.is_done)
    json["programs_why_not_checked"] = outcome.program_check.why_not;
  json["all_step_us"] = outcome.step_us;
  if (plan.is_training) {
    json["steps_before"] = outcome.steps_before;
    json["losses"] = outcome.losses;
  }
  json["not_cut"] = outcome.uncut;
  json["exchanges"] = ordered_json::array();
  for (const ExchangeFigures& exchange : outcome.figures.exchanges)
    json["exchanges"].push_back({{"kind", to_string(exchange.kind)},
                                 {"tensor", exchange.tensor},
                                 {"count", exchange.count},
                                 {"bytes", exchange.bytes},
                                 {"us", exchange.us}});
  json["ranks"] = ordered_json::array();
  for (std::size_t r = 0; r < outcome.figures.ranks.size(); ++r) {
    const RankFigures& rank = outcome.figures.ranks[r];
    json["ranks"].push_back({{"compute_us", rank.compute_us},
                             {"exchange_us", rank.exchange_us},
                             {"wait_us", rank.wait_us},
                             {"idle_share", rank.idle_share},
                             {"peak_memory_mb", outcome.peak_bytes[r] / 1e6}});
  }
  if (outcome.results.empty()) return json_text(json);
  json["equal"] = outcome.is_equal();
  for (const jobs::CheckedResult& result : outcome.results)
    json["results"].push_back(result_json(result));
  return json_text(json);
}

std::string difference_text(const jobs::RunPlanOutcome& outcome) {
  for (const jobs::CheckedResult& result : outcome.results) {
    if (result.is_equal()) continue;
    const jobs::ResultDifference& first = *result.difference;
    return fmt::format("'{}', rank {}, element [{}] is {} and not {}", result.name, first.rank,
                       fmt::join(first.index, ", "), first.actual, first.expected);
  }
  CHECK(false, "a result that differs");
  return {};
}

}  // namespace soapstone::cli
