// The report of measure-links, see links_options.h.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/links/links_options.h"
#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "parallel/topology/collectives.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;
using parallel::MeasuredCollective;

std::string links_table(const jobs::LinkOutcome& outcome) {
  Table table({{"ranks"}, {"latency", Align::kRight}, {"rate", Align::kRight}});
  for (const jobs::LinkTime& link : outcome.links)
    table.add_row({fmt::format("{} and {}", link.from, link.to),
                   fmt::format("{:.2f} us", link.latency_us), bytes_text(link.bytes_per_s) + "/s"});
  return table.to_string();
}

/// A row a size, a column an operation, of all ranks together.
std::string collectives_table(const jobs::LinkOutcome& outcome) {
  std::vector<Table::Column> columns{{"bytes", Align::kRight}};
  std::vector<const MeasuredCollective*> of_all;
  for (const MeasuredCollective& measured : outcome.collectives)
    if (measured.devices == outcome.ranks) {
      columns.push_back({std::string(parallel::to_string(measured.collective)), Align::kRight});
      of_all.push_back(&measured);
    }
  Table table(std::move(columns));
  for (std::size_t k = 0; k < of_all.front()->times.size(); ++k) {
    std::vector<std::string> row{
        grouped(static_cast<std::uint64_t>(of_all.front()->times[k].first))};
    for (const MeasuredCollective* measured : of_all) {
      const double us = measured->times[k].second;
      row.push_back(us < 100 ? fmt::format("{:.2f} us", us) : time_text(us));
    }
    table.add_row(std::move(row));
  }
  return table.to_string();
}

std::string compute_table(const jobs::ComputeBeside& compute) {
  Table table({{"computing"},
               {"alone", Align::kRight},
               {"beside others", Align::kRight},
               {"times as long", Align::kRight}});
  const auto add = [&](const char* name, const jobs::ComputeRate& rate, const char* unit) {
    table.add_row({name, count_text(rate.alone) + unit, count_text(rate.together) + unit,
                   fmt::format("{:.2f}", rate.slowdown())});
  };
  add("a product", compute.flops_per_s, "flop/s");
  add("passes over memory", compute.bytes_per_s, "B/s");
  return table.to_string();
}

ordered_json rate_json(const jobs::ComputeRate& rate) {
  return {{"alone", rate.alone}, {"together", rate.together}, {"slowdown", rate.slowdown()}};
}

}  // namespace

std::string links_text(const jobs::LinkOutcome& outcome, const std::string& file) {
  return fmt::format("{}\n{}\n{}\n{}: a topology of {} devices\n", links_table(outcome),
                     collectives_table(outcome), compute_table(outcome.compute), file,
                     outcome.ranks);
}

std::string links_json(const jobs::LinkOutcome& outcome, const std::string& file) {
  ordered_json links = ordered_json::array(), collectives = ordered_json::array();
  for (const jobs::LinkTime& link : outcome.links)
    links.push_back({{"ranks", {link.from, link.to}},
                     {"latency_us", link.latency_us},
                     {"bytes_per_s", link.bytes_per_s}});
  for (const MeasuredCollective& measured : outcome.collectives) {
    ordered_json times = ordered_json::array();
    for (const auto& [bytes, us] : measured.times) times.push_back({{"bytes", bytes}, {"us", us}});
    collectives.push_back({{"operation", parallel::to_string(measured.collective)},
                           {"ranks", measured.devices},
                           {"times", std::move(times)}});
  }
  return json_text({{"output", file},
                    {"ranks", outcome.ranks},
                    {"machine_was_busy", outcome.was_busy},
                    {"links", std::move(links)},
                    {"collectives", std::move(collectives)},
                    {"flops_per_s", rate_json(outcome.compute.flops_per_s)},
                    {"memory_bytes_per_s", rate_json(outcome.compute.bytes_per_s)}});
}

}  // namespace soapstone::cli
