// See check_request.h.
#include "jobs/optimize/check_request.h"

#include <fmt/format.h>

#include "jobs/base/output_files.h"
#include "jobs/base/usage_error.h"

namespace soapstone::jobs {
namespace {

using search::ObjectiveKind;

/// What belongs to a file has no place where the model is a graph in memory.
core::Status check_model(const OptimizeRequest& request) {
  if (!request.graph && request.model.empty())
    return usage_error("there is no model", "set `model` to an ONNX file, or `graph`");
  if (request.batch < 0)
    return usage_error("`batch` is negative", "0 leaves it as the file has it");
  if (request.batch > 0 && !request.proof.empty())
    return usage_error("`proof` begins at the file that was given, which has another batch",
                       "leave out `proof` or `batch`");
  if (!request.graph) return core::Done{};
  if (request.batch > 0)
    return usage_error("`batch` is for files, but the model is a graph",
                       "give the inputs of `graph` that size");
  if (!request.model.empty())
    return usage_error("there are two models: `model` and `graph`", "set one of them");
  if (!request.shapes.empty())
    return usage_error("`shapes` are for open sizes of a file, but the model is a graph",
                       "put the sizes into `graph`");
  if (request.strict)
    return usage_error("`strict` is about reading a file, but the model is a graph",
                       "leave out `strict`");
  if (request.judge.is_required())
    return usage_error("`judge` compares files, but the model is a graph",
                       "write the graph to a file and set `model` to it, or leave out `judge`");
  return core::Done{};
}

core::Status check_costs(const OptimizeRequest& request) {
  if (request.cost_model && request.graph_cost)
    return usage_error("there are two costs: `cost_model` and `graph_cost`", "set one of them");
  const std::string& name = request.graph_cost_name;
  if (!name.empty() && !request.graph_cost)
    return usage_error("`graph_cost_name` names no function", "set `graph_cost`, too");
  if (name.find_first_of("\r\n") != std::string::npos)
    return usage_error("`graph_cost_name` has several lines", "give a name of one line");
  if (!request.resume.empty() && request.graph_cost && name.empty())
    return usage_error("`resume` cannot tell one function from another",
                       "name the function: `graph_cost_name`");
  return core::Done{};
}

/// Its costs are no other costs, and nothing can be timed on a device that is not here.
core::Status check_target(const OptimizeRequest& request) {
  if (request.target.empty()) return core::Done{};
  if (request.has_own_costs() || request.costs != CostKind::kMeasured)
    return usage_error("`target` brings its own costs, but `costs` names others",
                       "leave out one of them");
  if (request.runtime.is_wanted())
    return usage_error("`target` is not here, so that nothing can time on it",
                       "leave out `target`, or the runtime");
  if (request.device.device == DeviceKind::kCuda)
    return usage_error("`target` names a device that is not here, `device` one that is",
                       "leave out one of them");
  return core::Done{};
}

/// A file has no precision of its own: our executor rounds what the file has in f32.
core::Status check_precision(const OptimizeRequest& request) {
  if (!request.device.rounds()) return core::Done{};
  if (request.runtime.is_wanted() && request.runtime.kind != RuntimeRequest::Kind::kSoapstone)
    return usage_error("`precision` says how our own executor runs, but another runtime is named",
                       "leave out one of them");
  if (request.costs != CostKind::kMeasured || request.has_own_costs() || !request.target.empty())
    return usage_error("`precision` is chosen where it is measured to be faster, but costs are not "
                       "measured here",
                       "leave out `precision`, or the costs");
  return core::Done{};
}

/// Only ONNX Runtime has these operators.
core::Status check_contrib(const OptimizeRequest& request) {
  using Kind = RuntimeRequest::Kind;
  const bool fits =
      request.runtime.kind == Kind::kAuto ||
      (request.runtime.kind == Kind::kWorker && to_string(request.runtime) == "onnxruntime");
  if (request.contrib && request.objective != ObjectiveKind::kLatency)
    return usage_error("`contrib` tries forms for speed, but the objective is another",
                       "leave out `contrib`, or the objective");
  if (!request.contrib || fits) return core::Done{};
  return usage_error(fmt::format("`contrib` asks for operators that only ONNX Runtime has, but the "
                                 "runtime is {}",
                                 to_string(request.runtime)),
                     "leave out `contrib`, or set the runtime to onnxruntime");
}

core::Status check_objective(const OptimizeRequest& request) {
  const bool wants_limit = request.objective == ObjectiveKind::kLatencyUnderMemory;
  if (wants_limit && request.peak_limit_bytes == 0)
    return usage_error("`objective`: under which limit on memory?", "set `peak_limit_bytes`");
  if (!wants_limit && request.peak_limit_bytes > 0)
    return usage_error("`objective`: only the latency under a limit has `peak_limit_bytes`",
                       "set the objective to kLatencyUnderMemory");
  return core::Done{};
}

core::Status check_verification(const OptimizeRequest& request) {
  if (request.samples < 0) return usage_error("`samples` is negative", "0 turns the check off");
  if (request.samples == 0 && !request.inputs.empty())
    return usage_error("there are `inputs` for the check, which is turned off",
                       "let it take one random input at least (`samples`), or leave out `inputs`");
  return core::Done{};
}

core::Status check_files(const OptimizeRequest& request) {
  if (!request.proof.empty() && request.dry_run)
    return usage_error("`dry_run` writes nothing that `proof` could prove",
                       "leave out one of them");
  if (!request.proof.empty() && request.output.empty())
    return usage_error("`proof` proves a file, but none is written", "set `output`, too");
  const OutputFile files[] = {
      {"`output`", request.dry_run ? "" : request.output, request.overwrite, true, "`overwrite`"},
      {"`proof`", request.proof},
      {"`trace`", request.trace},
      {"`resume`", request.resume}};
  const InputFile inputs[] = {{"the model", request.model}};
  return check_outputs(inputs, files);
}

}  // namespace

core::Status check_request(const OptimizeRequest& request) {
  SOAPSTONE_RETURN_IF_ERROR(check_model(request));
  SOAPSTONE_RETURN_IF_ERROR(check_costs(request));
  SOAPSTONE_RETURN_IF_ERROR(check_target(request));
  SOAPSTONE_RETURN_IF_ERROR(check_precision(request));
  SOAPSTONE_RETURN_IF_ERROR(check_contrib(request));
  SOAPSTONE_RETURN_IF_ERROR(check_objective(request));
  SOAPSTONE_RETURN_IF_ERROR(check_verification(request));
  return check_files(request);
}

}  // namespace soapstone::jobs
