// The options that say what optimize-graph strives for.
#pragma once

#include <cstddef>
#include <string>

#include "cli/options/command_line.h"
#include "core/base/result.h"
#include "search/base/objective.h"

namespace soapstone::cli {

struct ObjectiveOptions {
  std::string objective;  ///< Empty: not given.
  double peak_limit_mib = 0;
};

void add_objective_options(CommandLine& line, ObjectiveOptions& options);
/// A limit alone asks for the lowest latency under it. Errors: kUsage for a limit without use, or
/// an objective without its limit.
core::Result<search::ObjectiveKind> objective_of(const ObjectiveOptions& options);
std::size_t peak_limit_bytes(const ObjectiveOptions& options);

}  // namespace soapstone::cli
