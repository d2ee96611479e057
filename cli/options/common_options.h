// The flags that commands share, and how their values are read. A value that cannot be read is a
// usage error, and the command ends with exit code 2.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
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
void add_common_options(CommandLine& line, CommonOptions& options);
/// --shape NAME=1x3x224x224 and --shape DIMENSION=4, repeatable.
void add_shape_option(CommandLine& line, std::map<std::string, core::Dims>& shapes);
/// --seed N.
void add_seed_option(CommandLine& line, std::uint64_t& seed);
/// -j, --jobs N; 0: all cores.
void add_jobs_option(CommandLine& line, int& jobs);
/// Lines `$ command` and what they do, shown below the options.
void set_examples(CommandLine& line, const std::string& examples);

/// `NAME=SIZES`; the name may contain `=` itself. Errors: kUsage.
core::Result<std::pair<std::string, core::Dims>> parse_shape(const std::string& text);
/// `KEY=NUMBER`. Errors: kUsage.
core::Result<std::pair<std::string, std::int64_t>> parse_assignment(const std::string& text);

}  // namespace soapstone::cli
