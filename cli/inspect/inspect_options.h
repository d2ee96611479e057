// The options of inspect-graph.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/inspect/inspect.h"

namespace soapstone::cli {

struct InspectOptions : CommonOptions {
  jobs::InspectRequest request;
  bool as_text = false;
  std::string dot, svg;  ///< Paths of pictures; empty: none.
};

/// Binds all options to `options`, which must outlive `line`.
void add_inspect_options(CommandLine& line, InspectOptions& options);

}  // namespace soapstone::cli
