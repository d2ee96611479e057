// Options that say in which runtime models are timed.
#pragma once

#include <string>
#include <vector>

#include "cli/options/command_line.h"
#include "jobs/deployment/deployment.h"

namespace soapstone::cli {

struct RuntimeOptions {
  std::string runtime = "auto";
  std::string provider;
  std::vector<std::string> options;  ///< "name=value"
};

void add_runtime_options(CommandLine& line, RuntimeOptions& options);
/// `python`: that of --python. Errors: kUsage.
core::Result<jobs::RuntimeRequest> runtime_of(const RuntimeOptions& options,
                                              const std::string& python);
/// The same for a command whose --device and --fusion say how our own executor runs: naming one of
/// them means this one.
core::Result<jobs::RuntimeRequest>
runtime_of(const CommandLine& line, const RuntimeOptions& options, const std::string& python);
/// --python, for commands without --judge.
void add_python_option(CommandLine& line, std::string& python);

}  // namespace soapstone::cli
