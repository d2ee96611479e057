// The options of generate-rules.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/generate/request.h"

namespace soapstone::cli {

struct GenerateOptions : CommonOptions {
  jobs::GenerateRequest request;
};

/// Binds all options to `options`, which must outlive `line`.
void add_generate_options(CommandLine& line, GenerateOptions& options);

}  // namespace soapstone::cli
