// The request of optimize(). Every field has a default; new fields go to the end of their group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "jobs/deployment/deployment.h"
#include "jobs/devices/devices.h"
#include "jobs/devices/graph_cost.h"
#include "jobs/judge/file_judge.h"
#include "jobs/models/model_files.h"
#include "jobs/rules/rule_library.h"
#include "search/base/objective.h"
#include "search/base/types.h"
#include "search/equivalence/equivalence.h"

namespace soapstone::jobs {

class TraceWriter;

/// By what the search compares graphs.
enum class CostKind : std::uint8_t {
  kMeasured,  ///< Kernels timed on the device.
  kRoofline,  ///< A formula, the same on every machine.
  kTaso,      ///< The sum over operators that TASO minimizes.
  /// Kernels of the runtime of the deployment, as it fuses and times them; as kMeasured if our
  /// executor is the runtime.
  kRuntime,
};
/// "measured", "roofline", "taso", "runtime"
std::string_view to_string(CostKind kind);

struct OptimizeRequest {
  // The model, and where the result goes.
  std::string model;                 ///< Path of an ONNX file.
  std::optional<core::Graph> graph;  ///< A model in memory, which replaces the file.
  Shapes shapes;
  /// Items in a batch, which the result keeps; 0: as the file says. See models::write_with_batch().
  int batch = 0;
  std::string output;  ///< Path of the ONNX file to write; empty: none is written.
  bool dry_run = false;
  bool keep_constants = false;  ///< Constant expressions are written as nodes, not as values.
  bool strict = false;          ///< Operators that are not understood are an error.
  /// The result may have operators that ONNX Runtime adds to those of ONNX.
  bool contrib = false;
  /// Results may hold only at the sizes given, and then declare them; else what does is left out.
  bool fix_shapes = false;
  bool fold_default_inputs = false;  ///< models::ImportOptions::fold_default_inputs
  bool overwrite = false;            ///< `output` may be `model` itself, which it then replaces.

  // The rewrites that are allowed, and how results compare.
  RuleRequest rules;
  DeviceRequest device;
  CostKind costs = CostKind::kMeasured;
  /// A device that need not be here, whose costs replace those of `device`: see open_target().
  /// Nothing is timed then.
  std::string target;
  /// The caller's own; replaces `costs`. Its description() tells checkpoints of one model from
  /// those of another.
  std::shared_ptr<cost::CostModel> cost_model;
  GraphCostFunction graph_cost;  ///< Likewise, as a function on graphs.
  /// Names `graph_cost` in reports. With `resume` it must be there: a checkpoint that was made with
  /// a function of another name is refused, so a function that changes needs a new name.
  std::string graph_cost_name;
  /// Where the result will run. With costs that are not measured, kAuto is our executor.
  RuntimeRequest runtime;
  double measure_s = 60;  ///< For timing, as far as there is something to try.
  search::ObjectiveKind objective = search::ObjectiveKind::kLatency;
  std::size_t peak_limit_bytes = 0;  ///< For kLatencyUnderMemory.
  search::SearchOptions search;      ///< Its pointers are set by the job.

  // How the result is checked.
  /// Random inputs on which it must agree with the original; 0: no check.
  int samples = search::kSampleKinds;
  std::string inputs;  ///< Path of an archive (.npz) with inputs of the caller's own.
  std::optional<double> rtol, atol;
  std::uint64_t seed = 0;
  JudgeRequest judge;
  bool allow_unchecked = false;
  /// How much larger the weights of the result may be.
  search::GrowthOptions growth;
  bool assume_finite = false;  ///< Inputs hold no NaN: how far it would reach is not looked at.

  // Records to write; empty paths: none.
  std::string proof, trace, resume;
  bool explain = false;  ///< Fills OptimizeOutcome::explanation.
  /// If the model is the body of a node: the trace of the model around it, which has the body's
  /// events, too, and must outlive the job. Null: there is none.
  const TraceWriter* trace_around = nullptr;
  std::string body;  ///< Its name in that trace.

  /// Whether costs are times, so that results can be timed, too.
  bool measures() const {
    return !has_own_costs() && target.empty() &&
           (costs == CostKind::kMeasured || costs == CostKind::kRuntime);
  }
  bool has_own_costs() const { return cost_model != nullptr || graph_cost != nullptr; }
  /// What a report calls the costs: "measured", …, "recorded" or "own".
  std::string_view costs_name() const {
    return has_own_costs() ? "own" : target.empty() ? to_string(costs) : "recorded";
  }
};

}  // namespace soapstone::jobs
