// The options of bench-graph.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "cli/options/runtime_options.h"
#include "jobs/bench/bench.h"

namespace soapstone::cli {

struct BenchOptions : CommonOptions {
  jobs::BenchRequest request;
  RuntimeOptions runtime;
  std::string python;
  std::string import_costs, export_costs;  ///< Empty: neither.
};

/// Binds all options to `options`, which must outlive `line`.
void add_bench_options(CommandLine& line, BenchOptions& options);
/// The request with what its options mean together. Errors: kUsage.
core::Result<jobs::BenchRequest> request_of(const CommandLine& line, const BenchOptions& options);

}  // namespace soapstone::cli
