// See optimize_job.h and request.h.
#include "jobs/optimize/optimize_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/stop_scope.h"
#include "cost/models/measured_cost.h"
#include "cost/models/taso_cost.h"
#include "jobs/base/output_files.h"
#include "jobs/devices/target.h"
#include "jobs/kernels/runtime_cost.h"
#include "jobs/models/model_files.h"
#include "jobs/optimize/check_request.h"
#include "jobs/optimize/open_result.h"
#include "jobs/optimize/optimize_output.h"
#include "models/onnx/open_sizes.h"
#include "models/onnx/writing/contrib.h"
#include "ops/onnx/onnx_writing.h"
#include "search/baseline/simplify.h"
#include "transforms/contract/contractions.h"

namespace soapstone::jobs {
namespace {

core::Result<std::optional<search::EquivalenceOptions>>
verify_options(const OptimizeRequest& request, const models::OnnxModel& model,
               runtime::Backend& backend) {
  if (request.samples < 1) return std::optional<search::EquivalenceOptions>();
  search::EquivalenceOptions verify;
  verify.samples = request.samples;
  verify.rtol = request.rtol;
  verify.atol = request.atol;
  verify.seed = request.seed;
  verify.defaults = model.defaults;
  verify.landmarks.stretches = search::stretches_of(model.graph, backend, request.seed);
  if (!request.inputs.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto inputs, read_inputs(request.inputs, model));
    verify.inputs.push_back(std::move(inputs));
  }
  return std::optional(std::move(verify));
}

/// Whether a graph can be written in the model's opset once its constants are folded. The model and
/// the backend of the job have to outlive this.
std::function<core::Status(const core::Graph&)> writable_in(const OptimizeJob& job,
                                                            bool keep_constants) {
  return [header = job.model.header, backend = job.backend.get(),
          keep_constants](const core::Graph& graph) -> core::Status {
    core::Status status = models::check_writable(graph, *header);
    if (status || keep_constants) return status;
    const auto kept = models::constants_within_originals(graph, *header);
    SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph folded,
                               search::fold_constants(graph, *backend, kept));
    return models::check_writable(folded, *header);
  };
}

/// Writes graphs as they will be handed out. The model and the backend of the job have to outlive
/// this.
FileClock::Write writer_of(const OptimizeJob& job, bool keep_constants) {
  return [backend = job.backend.get(), header = job.model.header,
          keep_constants](const core::Graph& graph, const auto& path) {
    return write_graph(graph, *header, *backend, keep_constants, path);
  };
}

core::Status find_model(const OptimizeRequest& request, OptimizeJob& job, const Context& context) {
  if (request.graph) {
    job.model = model_of(*request.graph);
    return core::Done{};
  }
  job.model_file = request.model;
  if (request.batch == 0) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        job.model, read_model(request.model, request.shapes, context, request.fold_default_inputs));
    return core::Done{};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(job.batched, with_batch(request.model, request.batch));
  job.model_file = job.batched->path;
  SOAPSTONE_ASSIGN_OR_RETURN(job.model,
                             read_batched(*job.batched, request.model, request.batch,
                                          request.shapes, context, request.fold_default_inputs));
  return core::Done{};
}

/// Weights may lie in files of their own, as those of the result then do.
core::Status check_weight_files(const OptimizeRequest& request, const models::OnnxModel& model) {
  if (request.output.empty() || request.dry_run) return core::Done{};
  std::vector<InputFile> inputs;
  for (const std::filesystem::path& path : model.weight_files)
    inputs.push_back({"weights of the model", path.string()});
  if (inputs.empty()) return core::Done{};
  const OutputFile files[] = {{"`output`", request.output, request.overwrite, true, "`overwrite`"},
                              {"weights of the `output`", request.output + ".data",
                               request.overwrite, true, "`overwrite`"}};
  return check_outputs(inputs, files);
}

/// Weights are folded and results are checked in full precision.
core::Status make_backends(const DeviceRequest& request, OptimizeJob& job) {
  if (request.rounds()) {
    SOAPSTONE_ASSIGN_OR_RETURN(job.rounding, make_backend(request));
    job.optimize.timing = job.rounding.get();
  }
  SOAPSTONE_ASSIGN_OR_RETURN(job.backend, make_exact_backend(request));
  return core::Done{};
}

/// The runtime that looks at the result besides us, if there is one.
core::Status find_judge(const OptimizeRequest& request, OptimizeJob& job) {
  job.optimize.allow_unchecked = request.allow_unchecked;
  job.optimize.assume_finite = request.assume_finite;
  if (!job.optimize.verify) return core::Done{};
  if (request.graph) {
    job.optimize.why_no_judge = "the model is in no file";
    return core::Done{};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(IndependentRuntime runtime, start_runtime(request.judge));
  job.optimize.why_no_judge = runtime.why_not;
  if (!runtime.worker) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(
      job.judge, FileJudge::of_result(*std::move(runtime.worker), job.model_file, job.model.graph,
                                      std::filesystem::path(request.output).filename().string(),
                                      writer_of(job, request.keep_constants)));
  job.optimize.judge = job.judge.get();
  return core::Done{};
}

/// For messages: the operators that are not understood, and why the first is not.
std::string opaque_text(const std::vector<models::OpaqueNode>& nodes) {
  if (nodes.empty()) return {};
  const models::OpaqueNode& first = nodes.front();
  const std::string name = first.name.empty() ? "" : fmt::format(" '{}'", first.name);
  const std::string others =
      nodes.size() > 1 ? fmt::format(" (and {} more are not)", nodes.size() - 1) : "";
  return fmt::format("the operator {}{} is not understood here{}: {}", first.op_type, name, others,
                     first.reason);
}

/// The runtime in which the result will be deployed, if it is not ours.
core::Status find_clock(const OptimizeRequest& request, OptimizeJob& job, const Context& context) {
  if (job.rounding) return core::Done{};
  const bool is_named = request.runtime.kind == RuntimeRequest::Kind::kWorker;
  if (!is_named && !job.optimize.measure) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(OpenedDeployment opened,
                             open_deployment(request.runtime, request.device.threads));
  if (opened.deployment) {
    const std::string key = opened.deployment->key(job.backend->device().key());
    const core::StopScope scope(&context.stop);
    auto clock = FileClock::make(*std::move(opened.deployment), job.model_file, job.model.graph,
                                 writer_of(job, request.keep_constants), job.database.get(), key);
    if (clock) {
      job.clock = *std::move(clock);
      job.optimize.clock = job.clock.get();
      return core::Done{};
    }
    if (request.runtime.is_wanted() || scope.has_interrupted()) return clock.error();
    opened.why_not = clock.error().message;
    if (clock.error().code == core::ErrorCode::kUnsupported)
      job.optimize.runtime_refusal = opened.why_not;
  }
  if (!opened.why_not.empty()) {
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}; results are timed on our own executor", opened.why_not));
  }
  return core::Done{};
}

/// Costs by the runtime of the deployment, which has a second process for them. None: there is no
/// such runtime, or it cannot profile the model.
core::Result<std::shared_ptr<cost::CostModel>>
runtime_cost(const OptimizeRequest& request, const OptimizeJob& job, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(OpenedDeployment opened,
                             open_deployment(request.runtime, request.device.threads));
  if (!opened.deployment) return std::shared_ptr<cost::CostModel>();
  SOAPSTONE_ASSIGN_OR_RETURN(RuntimeProbe probe,
                             RuntimeProbe::make(*std::move(opened.deployment), job.model.opset));
  std::shared_ptr<RuntimeCost> cost = RuntimeCost::make(std::move(probe), job.database.get(),
                                                        job.backend->device().key(), &context.stop);
  context.progress.stage("observing the runtime");
  const auto learned = cost->learn(job.model.graph, writer_of(job, request.keep_constants));
  if (learned) return std::shared_ptr<cost::CostModel>(std::move(cost));
  SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  context.progress.log(
      core::LogLevel::kWarning,
      fmt::format("{}; costs are those of our own executor", learned.error().to_string()));
  return std::shared_ptr<cost::CostModel>();
}

core::Status choose_costs(const OptimizeRequest& request, OptimizeJob& job,
                          const Context& context) {
  if (request.cost_model) {
    job.cost = request.cost_model;
  } else if (request.graph_cost) {
    const double cost = request.graph_cost(job.model.graph);
    if (!std::isfinite(cost) || cost < 0) {
      return core::invalid_input(fmt::format("the cost function gives {} for the model", cost),
                                 "costs are finite and at least 0");
    }
    const std::string& name = request.graph_cost_name;
    job.cost =
        make_graph_cost(request.graph_cost, name.empty() ? "a function" : "function " + name);
  } else if (!request.target.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(job.cost, open_target(request.target, request.device));
  } else if (request.costs == CostKind::kRoofline) {
    // A GPU fuses less behind some products than kernels of no make do.
    const runtime::Fusion fusion = request.device.fusion;
    job.cost = request.device.device == DeviceKind::kCuda
                   ? cost::make_roofline_cost(job.timing().fusion(fusion))
                   : cost::make_roofline_cost(fusion);
  } else if (request.costs == CostKind::kTaso) {
    job.cost = cost::make_taso_cost();
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(job.database, open_costs(request.device));
    if (request.costs == CostKind::kRuntime) {
      SOAPSTONE_ASSIGN_OR_RETURN(job.cost, runtime_cost(request, job, context));
      if (job.cost) return core::Done{};
    }
    job.cost = cost::make_measured_cost(job.timing(), request.device.fusion, job.database.get(),
                                        {.stop = &context.stop});
  }
  return core::Done{};
}

/// Whether that shipped file, which is not for every run, is of use in this one.
bool wants_forms(std::string_view file, const OptimizeRequest& request, const OptimizeJob& job) {
  if (file == kStrided) return !job.clock;
  return job.clock && (file == kForms || request.contrib);
}

/// Makes the instances of rules that the model may have use of.
core::Status add_rules(const OptimizeRequest& request, OptimizeJob& job, const Context& context) {
  for (const std::string_view file : {kForms, kContribForms, kStrided}) {
    if (wants_forms(file, request, job)) continue;
    const auto is_form = [&](const auto& rule) { return rule.file.filename() == file; };
    std::erase_if(job.rules.search, is_form);
    std::erase_if(job.rules.written_search, is_form);
  }
  SOAPSTONE_RETURN_IF_ERROR(
      add_instances(instances_for(job.model.graph, job.rules), request.rules, job.rules));
  for (const std::string& rule : leave_out_unwritable(job.rules, job.model.opset)) {
    context.progress.log(core::LogLevel::kInfo,
                         fmt::format("{}: {}; the rule is left out", request.model, rule));
  }
  return core::Done{};
}

/// Whether a rule that is made for the model may be used in this run.
std::function<bool(const rules::Rule&)> admits_made(const OptimizeRequest& request,
                                                    const OptimizeJob& job) {
  auto admits = admits_made(request.rules);
  if (!admits || wants_forms(kStrided, request, job)) return admits;
  return [admits = std::move(admits)](const rules::Rule& rule) {
    return !rule.base_name.starts_with(transforms::kStridedPrefix) && admits(rule);
  };
}

/// The names of the forms of a shipped file.
std::vector<std::string> forms_of(std::string_view file, const OptimizeJob& job) {
  std::vector<std::string> forms;
  for (const rules::Rule& rule : job.rules.search)
    if (rule.file.filename() == file && (forms.empty() || forms.back() != rule.base_name))
      forms.push_back(rule.base_name);
  return forms;
}

void set_forms_apart(const OptimizeRequest& request, OptimizeJob& job, const Context& context) {
  job.optimize.trials.forms = forms_of(kForms, job);
  job.optimize.trials.last_forms = forms_of(kContribForms, job);
  if (request.contrib && !job.clock) {
    context.progress.log(core::LogLevel::kWarning,
                         "operators of ONNX Runtime's own are tried in ONNX Runtime alone, which "
                         "does not time this run: the result has none");
  }
}

}  // namespace

std::string_view to_string(CostKind kind) {
  switch (kind) {
  case CostKind::kMeasured:
    return "measured";
  case CostKind::kRoofline:
    return "roofline";
  case CostKind::kTaso:
    return "taso";
  case CostKind::kRuntime:
    return "runtime";
  }
  return "";
}

std::vector<std::string> leave_out_unwritable(LoadedRules& loaded, int opset) {
  std::map<std::pair<std::string, std::string>, int> left_out;  // instances by rule and operator
  for (std::vector<rules::Rule>* rules : {&loaded.baseline, &loaded.search}) {
    std::erase_if(*rules, [&](const rules::Rule& rule) {
      const auto& order = rule.target.order();
      const auto missing = std::ranges::find_if(order, [&](core::NodeId id) {
        return ops::first_opset(rule.target.node(id).op->name) > opset;
      });
      if (missing == order.end()) return false;
      ++left_out[{rule.base_name, rule.target.node(*missing).op->name}];
      return true;
    });
  }
  std::vector<std::string> sentences;
  for (const auto& [what, count] : left_out) {
    sentences.push_back(fmt::format("{}{} needs {}, which ONNX has since opset {}", what.first,
                                    count > 1 ? fmt::format(" ({} instances)", count) : "",
                                    what.second, ops::first_opset(what.second)));
  }
  return sentences;
}

core::Result<OptimizeJob> prepare(const OptimizeRequest& request, const Context& context) {
  SOAPSTONE_RETURN_IF_ERROR(check_request(request));
  context.progress.stage("reading rules");
  SOAPSTONE_ASSIGN_OR_RETURN(LoadedRules rules, load_rules(request.rules, context));
  SOAPSTONE_RETURN_IF_ERROR(refuse_unproved(rules, request.rules));
  return prepare(request, std::move(rules), context);
}

core::Result<OptimizeJob> prepare(const OptimizeRequest& request, LoadedRules rules,
                                  const Context& context) {
  OptimizeJob job;
  job.other_sizes = std::make_shared<OtherSizes>();
  job.rules = std::move(rules);
  SOAPSTONE_RETURN_IF_ERROR(find_model(request, job, context));
  SOAPSTONE_RETURN_IF_ERROR(check_weight_files(request, job.model));
  if (request.contrib) job.model.header = models::with_contrib(*job.model.header);
  if (request.strict && !job.model.opaque_nodes.empty()) {
    const models::OpaqueNode& first = job.model.opaque_nodes.front();
    return core::unsupported(fmt::format("{} operators are not understood, first {} ({}): {}",
                                         job.model.opaque_nodes.size(), first.name, first.op_type,
                                         first.reason),
                             "without `strict` they are kept as they are")
        .at(request.model);
  }
  for (const models::OpaqueNode& node : job.model.opaque_nodes) {
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}: {} ({}) is kept as it is: {}", request.model, node.name,
                                     node.op_type, node.reason));
  }
  job.optimize.opaque_nodes = opaque_text(job.model.opaque_nodes);
  SOAPSTONE_RETURN_IF_ERROR(make_backends(request.device, job));
  SOAPSTONE_RETURN_IF_ERROR(choose_costs(request, job, context));
  job.optimize.objective = request.objective;
  job.optimize.peak_limit_bytes = request.peak_limit_bytes;
  job.optimize.growth = request.growth;
  job.optimize.search = request.search;
  job.optimize.search.admits_made = admits_made(request, job);
  job.optimize.search.tries = tries(request.rules);
  if (!request.trace.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(job.trace, TraceWriter::create(request.trace));
  } else if (request.trace_around != nullptr) {
    job.trace = TraceWriter::of_body(*request.trace_around, request.body);
  }
  job.optimize.search.trace = job.trace.get();
  if (!request.resume.empty()) {
    job.checkpoint = std::make_unique<search::Checkpoint>(request.resume);
    job.optimize.search.checkpoint = job.checkpoint.get();
  }
  job.optimize.fusion = request.device.fusion;
  // The steps are taken again at other sizes where the file leaves sizes open.
  job.optimize.record_chain = !request.proof.empty() || !models::open_dimensions(job.model).empty();
  job.optimize.writable = writable_in(job, request.keep_constants);
  job.optimize.measure = request.measures();
  // A model that could not be timed or checked afterwards is not worth a search.
  if (job.optimize.measure || request.samples > 0) {
    SOAPSTONE_RETURN_IF_ERROR(check_can_run(request.model, job.model.graph));
  }
  if (job.batched)
    SOAPSTONE_RETURN_IF_ERROR(check_batch(request, job.model, *job.backend, context));
  // A caller who has little time to search has little time for timing.
  if (request.search.time_s > 0)
    job.optimize.measure_time_s = std::clamp(request.search.time_s, 2.0, 20.0);
  job.optimize.trials.time_s = request.measure_s;
  SOAPSTONE_RETURN_IF_ERROR(find_clock(request, job, context));
  SOAPSTONE_RETURN_IF_ERROR(add_rules(request, job, context));
  set_forms_apart(request, job, context);
  SOAPSTONE_ASSIGN_OR_RETURN(job.optimize.verify, verify_options(request, job.model, *job.backend));
  SOAPSTONE_RETURN_IF_ERROR(find_judge(request, job));
  return job;
}

}  // namespace soapstone::jobs
