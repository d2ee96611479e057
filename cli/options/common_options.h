// The flags that commands share, and how their values are read. A value that cannot be read is a
// usage error: CLI11 reports it, and the command ends with exit code 2.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/console.h"
#include "core/base/result.h"
#include "core/graph/tensor_type.h"

namespace soapstone::cli {

struct CommonOptions {
  std::string json;  ///< Path of the JSON report; `-`: stdout instead of the text; empty: none.
  bool quiet = false;
  bool verbose = false;
  double max_memory_gib = 0;  ///< 0: core::default_memory_limit().
  /// Not an option: one of several processes, another of which speaks for all. Nothing is printed
  /// or written, and the exit code is 0.
  bool is_silent = false;
  Verbosity verbosity() const;
  std::uint64_t max_memory_bytes() const;
};

/// --json, -q, -v, --max-memory, --version.
void add_common_options(CLI::App& app, CommonOptions& options);
/// --shape NAME=1x3x224x224 and --shape DIMENSION=4, repeatable.
void add_shape_option(CLI::App& app, std::vector<std::string>& shapes);
/// --seed N.
void add_seed_option(CLI::App& app, std::uint64_t& seed);
/// -j, --jobs N; 0: all cores.
void add_jobs_option(CLI::App& app, int& jobs);
/// Lines `$ command` and what they do, shown below the options.
void set_examples(CLI::App& app, const std::string& examples);

/// Refuses what is no number of at least 0, without CLI11's idea of where numbers end.
CLI::Validator not_negative();
/// For numbers with a fraction; NaN is none.
CLI::Validator number_between(double least, double most);

/// `NAME=SIZES`; the name may contain `=` itself. Errors: kUsage.
core::Result<std::pair<std::string, core::Dims>> parse_shape(const std::string& text);
/// `KEY=NUMBER`. Errors: kUsage.
core::Result<std::pair<std::string, std::int64_t>> parse_assignment(const std::string& text);

}  // namespace soapstone::cli
