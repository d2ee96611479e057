// What optimize-graph tells: a table for people, JSON for machines.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "search/optimize.h"
#include "verifier/admission.h"

namespace soapstone::cli {

/// What the report says besides the result of the search.
struct RunSummary {
  std::string model;               ///< Input path.
  std::string output;              ///< Where the result is; empty: not written.
  std::string output_note;         ///< Why not, or that the original was copied.
  std::vector<std::string> notes;  ///< Of writing it, besides those of the search.
  std::string costs;               ///< CostModel::description().
  std::string device;
  /// Rules that matched tensors of a type for which their label forbids them.
  std::vector<verifier::Admission::LabelRefusal> left_out;
  double total_cpu_s = 0;
  double total_wall_s = 0;
  double peak_rss_mb = 0;
};

std::string_view outcome_name(search::Outcome outcome);
std::string_view result_name(search::ResultKind result);

std::string report_text(const search::OptimizeReport& report, const RunSummary& run);
/// What was not measured is null.
nlohmann::ordered_json report_json(const search::OptimizeReport& report, const RunSummary& run);

}  // namespace soapstone::cli
