// The options of verify-rules.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/verify/derive.h"
#include "jobs/verify/verify.h"

namespace soapstone::cli {

struct VerifyOptions : CommonOptions {
  jobs::VerifyRequest request;
  bool second_opinion = false, no_second_opinion = false;
  std::size_t mutants = 0;     ///< --mutate; 0: none are made.
  std::string check;           ///< Folder of logs to check; empty: none.
  jobs::DeriveRequest derive;  ///< Without rule files to derive from: not asked for.
  bool require_derivable = false;
};

/// Binds all options to `options`, which must outlive `line`.
void add_verify_options(CommandLine& line, VerifyOptions& options);

}  // namespace soapstone::cli
