// plan(): how a model is partitioned over the devices of a machine, which need not be there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/devices/devices.h"
#include "jobs/plan/planned_model.h"
#include "parallel/plans/plan_document.h"

namespace soapstone::jobs {

/// Where the times of kernels come from.
enum class PlanCosts : std::uint8_t {
  kEstimated,  ///< A roofline with the figures of the topology.
  /// The cost database, under the key that the topology gives its devices. Devices with the key
  /// `cpu` are this machine, which measures what the database does not have.
  kMeasured,
};

struct PlanRequest {
  PlannedModelRequest model;
  std::string topology;  ///< Name of a preset, or path of a topology in JSON.
  std::string strategy = "best";
  /// Also plans with every named strategy.
  bool compares = false;
  bool is_training = false;
  bool is_strict = false;  ///< A model with operators of which nothing is known is refused.
  parallel::Optimizer optimizer = parallel::Optimizer::kAdam;
  std::optional<core::DataType> precision;
  parallel::Attention attention = parallel::Attention::kStored;
  /// Sizes that every plan must have: model, any, stages, microbatches, chunks, loss_chunks;
  /// bucket, in megabytes.
  std::map<std::string, std::int64_t> fix;
  std::optional<parallel::Recompute> recompute;  ///< None: it is searched.
  /// Gradients are summed when the backward pass has ended, as by frameworks of 2018.
  bool sums_behind = false;
  std::optional<std::int64_t> devices;
  std::optional<double> memory_limit_bytes;  ///< Of a device.
  PlanCosts costs = PlanCosts::kEstimated;
  DeviceRequest device;   ///< Where the database lies; what a thread of this machine may use.
  double measure_s = 30;  ///< Most seconds that measuring may take.
  int jobs = 0;           ///< Threads; 0: one for each core.
};

struct PlanOutcome {
  core::Graph graph;
  std::vector<bool> is_weight;                        ///< By tensor.
  std::shared_ptr<const models::ModelHeader> header;  ///< What the graph's file has besides it.
  std::vector<std::string> device_names;
  std::vector<std::string> opaque;  ///< Nodes of which nothing is known but their tensors.
  parallel::PlanDocument plan;
  parallel::MeshPlan details;  ///< What each node costs.
  bool is_here = false;  ///< Costs were measured on this machine, whose threads are the devices.
  bool fits = true;
  bool was_stopped = false;  ///< The search was not over: this is the best plan until then.
  double memory_bytes = 0;   ///< Of a device.
  parallel::StepBound lower_bound;
  std::size_t meshes_tried = 0;
  double search_cpu_s = 0;      ///< What trying them took.
  double data_parallel_us = 0;  ///< 0: data parallelism does not fit, or was not asked for.
  struct Rival {
    std::string name, description;
    parallel::PlanDocument plan;
    parallel::MeshPlan details;
    bool fits = true;
    double memory_bytes = 0;  ///< Of a device.
  };
  /// The named strategies, if asked for, or if the best plan is chosen on this machine.
  std::vector<Rival> rivals;
  struct Refused {
    std::string name, reason;
  };
  std::vector<Refused> refused;  ///< Those that cannot be used here.
};

/// Errors: kInvalidInput: the model or the topology is not there or wrong; kUsage: there is no such
/// strategy; kUnsupported: it cannot be used with the model and the devices, or these have measured
/// costs of several kinds, or an operator is not known and `is_strict`; kUnavailable: there are no
/// measured costs of them; kInterrupted: it was stopped before there was any plan.
core::Result<PlanOutcome> plan(const PlanRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
