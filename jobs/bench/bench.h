// bench(): how long a model takes on a device, launch by launch if wanted, and against another
// model. Also carries measured costs from and to other machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/models/measured_cost.h"
#include "jobs/base/context.h"
#include "jobs/devices/devices.h"
#include "jobs/models/model_files.h"
#include "runtime/execution/executor.h"

namespace soapstone::jobs {

struct BenchRequest {
  std::string model;    ///< Path of an ONNX file.
  std::string against;  ///< Another one, which is timed in turn with it; empty: none.
  Shapes shapes;
  DeviceRequest device;
  std::uint64_t seed = 0;
  int rounds = 200;        ///< Most times that a model is timed.
  double time_s = 10;      ///< For timing.
  bool breakdown = false;  ///< Also times each launch alone.
};

struct BenchOutcome {
  struct Model {
    std::string path;
    cost::Timing timing;
    runtime::ExecutableReport executable;
  };
  std::string device;
  runtime::Fusion fusion = runtime::Fusion::kFull;
  std::vector<Model> models;  ///< The one asked for, then the one that it is compared with.
  /// Time of the other over time of the first, of two models.
  std::optional<cost::RatioInterval> ratio;
  std::vector<cost::CostModel::Item>
      launches;  ///< Launches of the first model; empty: not asked for.
};

/// `database` keeps what is measured of launches; null: nothing is kept. Errors: those of reading
/// and running the models; kInterrupted.
core::Result<BenchOutcome> bench(const BenchRequest& request, cost::CostDatabase* database,
                                 const Context& context = {});

/// Costs between the database and a file of JSON Lines; an empty path is nothing to do.
core::Status import_costs(const std::string& path, cost::CostDatabase& database,
                          const Context& context = {});
core::Status export_costs(const std::string& path, cost::CostDatabase& database,
                          const Context& context = {});

}  // namespace soapstone::jobs
