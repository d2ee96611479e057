// The options and the report of measure-costs.
#pragma once

#include <string>

#include "cli/options/common_options.h"
#include "jobs/measure/measure_costs.h"

namespace soapstone::cli {

struct MeasureOptions : CommonOptions {
  jobs::MeasureRequest request;
};

/// Binds all options to `options`, which must outlive `line`.
void add_measure_options(CommandLine& line, MeasureOptions& options);

std::string measure_text(const jobs::MeasureOutcome& outcome, const std::string& file);
std::string measure_json(const jobs::MeasureOutcome& outcome, const std::string& file);

}  // namespace soapstone::cli
