// bench(): how long a model takes in the runtime in which it is deployed or on our own executor,
// kernel by kernel if wanted, and against another model. Also carries measured costs from and to
// other machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/models/measured_cost.h"
#include "jobs/base/context.h"
#include "jobs/deployment/deployment.h"
#include "jobs/devices/devices.h"
#include "jobs/devices/rounding.h"
#include "jobs/models/model_files.h"
#include "runtime/execution/executor.h"

namespace soapstone::jobs {

struct BenchRequest {
  std::string model;    ///< Path of an ONNX file.
  std::string against;  ///< Another one, which is timed in turn with it; empty: none.
  Shapes shapes;
  /// The best that our executor has; a search would compile loops for every graph that it meets.
  DeviceRequest device{.fusion = runtime::Fusion::kGenerated, .costs = {}};
  std::uint64_t seed = 0;
  int rounds = 200;    ///< Most times that a model is timed.
  double time_s = 10;  ///< For timing.
  /// Also times each launch alone; in another runtime, what its profile says of each kernel.
  bool breakdown = false;
  /// Where the models are timed: as files in a runtime, or on our executor on `device`. kAuto is
  /// our executor, too, if the runtime cannot run them.
  RuntimeRequest runtime;
};

struct BenchOutcome {
  struct Model {
    std::string path;
    cost::Timing timing;
    std::optional<runtime::ExecutableReport> executable;  ///< None: it ran in another runtime.
  };
  /// "ONNX Runtime 1.31.1, 1 thread"; empty: our own executor, on `device`.
  std::string runtime;
  bool is_processor_time = false;  ///< Other programs that ran meanwhile are not in the times.
  std::string device;
  runtime::Fusion fusion = runtime::Fusion::kFull;
  std::vector<Model> models;  ///< The one asked for, then the one that it is compared with.
  /// What rounded factors do to the first model; none: it is not run with any. It is then timed in
  /// turn with itself in f32, unless there is another to compare it with.
  std::optional<RoundingError> rounding;
  /// Time of the other over time of the first, of two models.
  std::optional<cost::RatioInterval> ratio;
  std::vector<cost::CostModel::Item>
      launches;  ///< Launches of the first model; empty: not asked for.
  /// Kernels of the first model in the other runtime; none: not asked for, or it does not tell.
  std::optional<workers::RuntimeProfile> kernels;
};

/// `database` keeps what is measured of launches; null: nothing is kept. Errors: those of reading
/// and running the models; kUnavailable: the runtime that was named is not there; kInterrupted.
core::Result<BenchOutcome> bench(const BenchRequest& request, cost::CostDatabase* database,
                                 const Context& context = {});

/// Costs between the database and a file of JSON Lines; an empty path is nothing to do.
core::Status import_costs(const std::string& path, cost::CostDatabase& database,
                          const Context& context = {});
core::Status export_costs(const std::string& path, cost::CostDatabase& database,
                          const Context& context = {});

}  // namespace soapstone::jobs
