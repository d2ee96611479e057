// The options of bench-graph.
#pragma once

#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "jobs/bench/bench.h"

namespace soapstone::cli {

struct BenchOptions : CommonOptions {
  jobs::BenchRequest request;
  std::string import_costs, export_costs;  ///< Empty: neither.
};

/// Binds all options to `options`, which must outlive `line`.
void add_bench_options(CommandLine& line, BenchOptions& options);

}  // namespace soapstone::cli
