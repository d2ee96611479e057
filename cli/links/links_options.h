// The options and the report of measure-links.
#pragma once

#include <optional>
#include <string>

#include "cli/options/common_options.h"
#include "jobs/links/measure_links.h"

namespace soapstone::cli {

struct LinksOptions : CommonOptions {
  jobs::LinkRequest request;
  std::optional<std::uint64_t> virtual_ranks;  ///< None: processes that mpirun started.
  std::string output;
  parallel::MpiLaunch launch;
};

/// Binds all options to `options`, which must outlive `line`.
void add_links_options(CommandLine& line, LinksOptions& options);

std::string links_text(const jobs::LinkOutcome& outcome, const std::string& file);
std::string links_json(const jobs::LinkOutcome& outcome, const std::string& file);

}  // namespace soapstone::cli
