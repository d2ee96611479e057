// The options of generate-rules.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "cli/options/runtime_options.h"
#include "jobs/generate/request.h"

namespace soapstone::cli {

struct GenerateOptions : CommonOptions {
  jobs::GenerateRequest request;
  RuntimeOptions runtime;
  std::string python;
};

/// Binds all options to `options`, which must outlive `line`.
void add_generate_options(CommandLine& line, GenerateOptions& options);
/// The request with what its options mean together. Errors: kUsage.
core::Result<jobs::GenerateRequest> request_of(const CommandLine& line,
                                               const GenerateOptions& options);

}  // namespace soapstone::cli
