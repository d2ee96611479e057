// See bench_report.h.
#include "cli/reports/bench_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kWidestLaunch = 60;

std::string model_table(const jobs::BenchOutcome& report) {
  Table table({{"model"},
               {"latency", Align::kRight},
               {"95 % interval", Align::kRight},
               {"rounds", Align::kRight},
               {"launches", Align::kRight},
               {"activations", Align::kRight},
               {"weights", Align::kRight}});
  for (const jobs::BenchOutcome::Model& model : report.models) {
    const runtime::ExecutableReport& executable = model.executable;
    table.add_row(
        {model.path, time_text(model.timing.median_us),
         fmt::format("{} to {}", time_text(model.timing.low_us), time_text(model.timing.high_us)),
         fmt::to_string(model.timing.rounds),
         fmt::to_string(executable.launches + executable.conversions),
         bytes_text(static_cast<double>(executable.peak_activation_bytes)),
         bytes_text(static_cast<double>(executable.constant_bytes))});
  }
  return table.to_string();
}

std::string ratio_text(const jobs::BenchOutcome& report) {
  const cost::RatioInterval& ratio = *report.ratio;
  std::string verdict = "no difference that is certain";
  if (ratio.low > 1) verdict = report.models[0].path + " is faster";
  if (ratio.high < 1) verdict = report.models[0].path + " is slower";
  return fmt::format("\nspeedup {:.3f}x (95 % interval {:.3f} to {:.3f}): {}\n", ratio.median,
                     ratio.low, ratio.high, verdict);
}

double sum_us(const jobs::BenchOutcome& report) {
  double total_us = 0;
  for (const auto& item : report.launches) total_us += item.cost.cost_us;
  return total_us;
}

std::string launch_table(const jobs::BenchOutcome& report) {
  Table table({{"launch"},
               {"time", Align::kRight},
               {"spread", Align::kRight},
               {"share", Align::kRight},
               {"kernel"}});
  const double total_us = sum_us(report);
  bool estimated = false;
  for (const auto& [what, cost, implementation] : report.launches) {
    estimated = estimated || cost.estimated;
    table.add_row({cut_to_width(what, kWidestLaunch),
                   (cost.estimated ? "~ " : "") + time_text(cost.cost_us),
                   cost.estimated ? "" : time_text(cost.spread_us),
                   percent_text(total_us > 0 ? cost.cost_us / total_us : 0), implementation});
  }
  std::string text = fmt::format("\n{}\nsum of launches, each timed alone: {}\n", table.to_string(),
                                 time_text(total_us));
  if (estimated) text += "~ is an estimate, not a measurement\n";
  return text;
}

ordered_json timing_json(const jobs::BenchOutcome::Model& model) {
  return {{"model", model.path},
          {"latency_us", model.timing.median_us},
          {"latency_interval_us", {model.timing.low_us, model.timing.high_us}},
          {"rounds", model.timing.rounds},
          {"launches", model.executable.launches},
          {"conversions", model.executable.conversions},
          {"peak_activation_bytes", model.executable.peak_activation_bytes},
          {"constant_bytes", model.executable.constant_bytes},
          {"reference_kernels", model.executable.reference_kernels.size()}};
}

}  // namespace

std::string bench_text(const jobs::BenchOutcome& report) {
  std::string text = fmt::format("{}, {} fusion\n\n{}", report.device,
                                 runtime::to_string(report.fusion), model_table(report));
  if (report.ratio) text += ratio_text(report);
  if (!report.launches.empty()) text += launch_table(report);
  return text;
}

std::string bench_json(const jobs::BenchOutcome& report) {
  ordered_json json = {{"device", report.device}, {"fusion", runtime::to_string(report.fusion)}};
  json["models"] = ordered_json::array();
  for (const jobs::BenchOutcome::Model& model : report.models) {
    json["models"].push_back(timing_json(model));
  }
  if (report.ratio) {
    json["speedup"] = report.ratio->median;
    json["speedup_interval"] = {report.ratio->low, report.ratio->high};
  }
  if (report.launches.empty()) return json_text(json);
  json["sum_of_launches_us"] = sum_us(report);
  json["breakdown"] = ordered_json::array();
  for (const auto& [what, cost, implementation] : report.launches) {
    json["breakdown"].push_back({{"launch", what},
                                 {"cost_us", cost.cost_us},
                                 {"spread_us", cost.spread_us},
                                 {"estimated", cost.estimated},
                                 {"kernel", implementation}});
  }
  return json_text(json);
}

}  // namespace soapstone::cli
