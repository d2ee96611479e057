// The options of build-model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/options/common_options.h"
#include "models/networks/builders.h"

namespace soapstone::cli {

struct BuildOptions : CommonOptions {
  std::string name;
  std::string output;
  std::vector<std::string> settings;  ///< `KEY=NUMBER`
  int opset = 17;
  std::uint64_t seed = 0;
  core::DataType type = core::DataType::kFloat32;
  bool list = false;
};

/// Binds all options to `options`, which must outlive `line`.
void add_build_options(CommandLine& line, BuildOptions& options);

/// A misspelt name is the command line's fault, so it is checked before anything is built.
/// Errors: kUsage.
core::Result<const models::ModelBuilder*> builder_of(const BuildOptions& options);
/// The values of --set. Errors: kUsage for a parameter that the model does not have.
core::Result<std::map<std::string, std::int64_t>> settings_of(const BuildOptions& options,
                                                              const models::ModelBuilder& builder);

}  // namespace soapstone::cli
