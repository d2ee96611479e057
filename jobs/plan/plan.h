// plan(): how a model is partitioned over the devices of a machine, which need not be there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/models/model_files.h"
#include "parallel/planning/plan_document.h"

namespace soapstone::jobs {

struct PlanRequest {
  std::string model;  ///< Path of an ONNX file, or the name of a built-in network.
  std::map<std::string, std::int64_t> settings;  ///< Parameters of a built-in network.
  Shapes shapes;                                 ///< Sizes that a file leaves open.
  std::string topology;  ///< Name of a preset, or path of a topology in JSON.
  std::string strategy = "best";
  /// Also plans with every named strategy.
  bool compares = false;
  std::optional<std::int64_t> batch;  ///< Of all devices together; built-in networks only.
  bool is_training = false;
  parallel::Optimizer optimizer = parallel::Optimizer::kAdam;
  std::optional<core::DataType> precision;
  std::optional<std::int64_t> devices;
  std::optional<double> memory_limit_bytes;  ///< Of a device.
  int threads = 1;                           ///< 0: all cores.
};

struct PlanOutcome {
  core::Graph graph;
  parallel::PlanDocument plan;
  parallel::MeshPlan details;  ///< What each node costs.
  bool fits = true;
  double memory_bytes = 0;  ///< Of a device.
  std::size_t meshes_tried = 0;
  double data_parallel_us = 0;  ///< 0: data parallelism does not fit, or was not asked for.
  struct Rival {
    std::string name, description;
    parallel::StepTime time;
    parallel::MeshShape shape;
    bool fits = true;
  };
  std::vector<Rival> rivals;  ///< The named strategies, if asked for.
};

/// Errors: kInvalidInput: the model, the topology or the strategy is not there or wrong;
/// kInterrupted: it was stopped before there was any plan.
core::Result<PlanOutcome> plan(const PlanRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
