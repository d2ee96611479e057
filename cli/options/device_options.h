// On what a command runs and where it keeps costs: the flags and what they stand for.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "core/base/result.h"
#include "cost/database/cost_database.h"
#include "runtime/launches/backend.h"

namespace soapstone::cli {

struct DeviceOptions {
  std::string device = "cpu";
  int threads = 1;
  std::string fusion = "full";
  std::string costs;  ///< Path of the cost database; empty: the default one; `none`: no database.

  runtime::Fusion fusion_level() const;
};

/// --device, --threads.
void add_device_options(CLI::App& app, DeviceOptions& options);
/// --fusion.
void add_fusion_option(CLI::App& app, DeviceOptions& options);
/// --cost-db.
void add_cost_db_option(CLI::App& app, DeviceOptions& options);

/// Errors: kUnavailable.
core::Result<std::unique_ptr<runtime::Backend>> make_backend(const DeviceOptions& options);
/// Null for `none`. Errors: kUnavailable.
core::Result<std::unique_ptr<cost::CostDatabase>> open_costs(const DeviceOptions& options);

}  // namespace soapstone::cli
