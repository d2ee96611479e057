// See bench_report.h.
#include "cli/bench/bench_report.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/reports/rounding_report.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kWidestLaunch = 60;

std::string model_table(const jobs::BenchOutcome& report) {
  std::vector<Table::Column> columns{{"model"},
                                     {"latency", Align::kRight},
                                     {"95 % interval", Align::kRight},
                                     {"rounds", Align::kRight}};
  if (report.runtime.empty()) {
    for (const char* const column : {"launches", "activations", "weights"})
      columns.push_back({column, Align::kRight});
  }
  Table table(columns);
  for (const jobs::BenchOutcome::Model& model : report.models) {
    std::vector<std::string> cells{
        model.path, time_text(model.timing.median_us),
        fmt::format("{} to {}", time_text(model.timing.low_us), time_text(model.timing.high_us)),
        fmt::to_string(model.timing.rounds)};
    if (const auto& executable = model.executable) {
      cells.push_back(fmt::to_string(executable->launches + executable->conversions));
      cells.push_back(bytes_text(static_cast<double>(executable->peak_activation_bytes)));
      cells.push_back(bytes_text(static_cast<double>(executable->constant_bytes)));
    }
    table.add_row(std::move(cells));
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

/// In the order in which the runtime runs them.
std::string kernel_table(const workers::RuntimeProfile& profile) {
  Table table({{"kernel"}, {"operator"}, {"time", Align::kRight}, {"share", Align::kRight}});
  double sum_us = 0;
  for (const workers::RuntimeKernel& kernel : profile.kernels) sum_us += kernel.us;
  for (const workers::RuntimeKernel& kernel : profile.kernels)
    table.add_row({cut_to_width(kernel.name, kWidestLaunch), kernel.op, time_text(kernel.us),
                   percent_text(sum_us > 0 ? kernel.us / sum_us : 0)});
  return fmt::format("\n{}\nsum of kernels: {}; a run without the profiler: {}, {} of the "
                     "processor\n",
                     table.to_string(), time_text(sum_us), time_text(profile.total_us),
                     time_text(profile.total_cpu_us));
}

ordered_json timing_json(const jobs::BenchOutcome::Model& model) {
  ordered_json json = {{"model", model.path},
                       {"latency_us", model.timing.median_us},
                       {"latency_interval_us", {model.timing.low_us, model.timing.high_us}},
                       {"rounds", model.timing.rounds}};
  if (!model.executable) return json;
  json["launches"] = model.executable->launches;
  json["conversions"] = model.executable->conversions;
  json["peak_activation_bytes"] = model.executable->peak_activation_bytes;
  json["constant_bytes"] = model.executable->constant_bytes;
  json["reference_kernels"] = model.executable->reference_kernels.size();
  return json;
}

void add_kernels(ordered_json& json, const workers::RuntimeProfile& profile) {
  json["profiled_run_us"] = profile.total_us;
  json["profiled_run_cpu_us"] = profile.total_cpu_us;
  json["breakdown"] = ordered_json::array();
  for (const workers::RuntimeKernel& kernel : profile.kernels) {
    json["breakdown"].push_back({{"kernel", kernel.name},
                                 {"operator", kernel.op},
                                 {"cost_us", kernel.us},
                                 {"inputs", kernel.inputs},
                                 {"outputs", kernel.outputs},
                                 {"origins", kernel.origins}});
  }
}

/// What the models were timed on.
std::string place_text(const jobs::BenchOutcome& report) {
  if (report.runtime.empty())
    return fmt::format("our own executor, {}, {} fusion", report.device,
                       runtime::to_string(report.fusion));
  return report.runtime + (report.is_processor_time ? "; times of the processor" : "");
}

}  // namespace

std::string bench_text(const jobs::BenchOutcome& report) {
  std::string text = fmt::format("timed in: {}\n\n{}", place_text(report), model_table(report));
  if (report.ratio) text += ratio_text(report);
  if (report.rounding) text += rounding_text(*report.rounding) + "\n";
  if (report.kernels) text += kernel_table(*report.kernels);
  if (!report.launches.empty()) text += launch_table(report);
  return text;
}

std::string bench_json(const jobs::BenchOutcome& report) {
  ordered_json json = {{"runtime", report.runtime.empty() ? "soapstone" : report.runtime}};
  if (report.runtime.empty()) {
    json["device"] = report.device;
    json["fusion"] = runtime::to_string(report.fusion);
  } else {
    json["clock"] = report.is_processor_time ? "processor" : "wall";
  }
  json["models"] = ordered_json::array();
  for (const jobs::BenchOutcome::Model& model : report.models) {
    json["models"].push_back(timing_json(model));
  }
  if (report.ratio) {
    json["speedup"] = report.ratio->median;
    json["speedup_interval"] = {report.ratio->low, report.ratio->high};
  }
  if (report.rounding) json["rounding"] = rounding_json(*report.rounding);
  if (report.kernels) add_kernels(json, *report.kernels);
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
