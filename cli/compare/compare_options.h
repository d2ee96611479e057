// The options of compare-graphs.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/compare/compare.h"

namespace soapstone::cli {

struct CompareOptions : CommonOptions {
  jobs::CompareRequest request;
};

/// Binds all options to `options`, which must outlive `line`.
void add_compare_options(CommandLine& line, CompareOptions& options);

}  // namespace soapstone::cli
