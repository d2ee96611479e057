// See optimize_job.h.
#include "cli/optimize_job.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/model_files.h"
#include "cli/optimize_output.h"
#include "cost/models/measured_cost.h"
#include "cost/models/taso_cost.h"
#include "models/files/npz.h"
#include "models/onnx/open_sizes.h"
#include "ops/onnx/onnx_writing.h"
#include "search/baseline/simplify.h"

namespace soapstone::cli {
namespace {

/// The user's arrays in the order of the graph's inputs.
core::Result<std::vector<core::Literal>> read_inputs(const std::string& path,
                                                     const core::Graph& graph) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto arrays, models::read_npz(path));
  std::vector<core::Literal> inputs;
  for (const core::TensorId id : graph.inputs()) {
    const std::string& name = graph.tensor(id).name;
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& array) { return array.first == name; });
    if (found == arrays.end()) {
      return core::invalid_input(fmt::format("has no array for input {}", name),
                                 fmt::format("numpy.savez(file, **{{'{}': array}})", name))
          .at(path);
    }
    inputs.push_back(std::move(found->second));
  }
  return inputs;
}

core::Result<std::optional<search::EquivalenceOptions>>
verify_options(const OptimizeArguments& options, const core::Graph& graph) {
  if (options.verify == "off") return std::optional<search::EquivalenceOptions>();
  search::EquivalenceOptions verify;
  const char* const end = options.verify.data() + options.verify.size();
  const auto [stop, error] = std::from_chars(options.verify.data(), end, verify.samples);
  if (error != std::errc() || stop != end || verify.samples < 1) {
    return core::Error{core::ErrorCode::kUsage,
                       fmt::format("--verify {}: not a number of inputs", options.verify),
                       {},
                       "--verify 8, or --verify off"};
  }
  verify.rtol = options.rtol;
  verify.atol = options.atol;
  verify.seed = options.seed;
  if (!options.inputs.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto inputs, read_inputs(options.inputs, graph));
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

/// The runtime that looks at the result besides us, if there is one.
core::Status find_judge(const OptimizeArguments& options, OptimizeJob& job) {
  job.optimize.allow_unchecked = options.allow_unchecked;
  if (!job.optimize.verify) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(IndependentRuntime runtime, start_runtime(options.judge));
  job.optimize.why_no_judge = runtime.why_not;
  if (!runtime.worker) return core::Done{};
  const auto write = [backend = job.backend.get(), header = job.model.header,
                      keep = options.keep_constants](const core::Graph& graph, const auto& path) {
    return write_graph(graph, *header, *backend, keep, path);
  };
  SOAPSTONE_ASSIGN_OR_RETURN(
      job.judge,
      FileJudge::of_result(*std::move(runtime.worker), options.model, job.model.graph,
                           std::filesystem::path(options.output).filename().string(), write));
  job.optimize.judge = job.judge.get();
  return core::Done{};
}

}  // namespace

std::vector<std::string> leave_out_unwritable(LoadedRules& loaded, int opset) {
  std::vector<std::string> left_out;
  for (std::vector<rules::Rule>* rules : {&loaded.baseline, &loaded.search}) {
    std::erase_if(*rules, [&](const rules::Rule& rule) {
      for (const core::NodeId id : rule.target.order()) {
        const std::string& op = rule.target.node(id).op->name;
        const int first = ops::first_opset(op);
        if (first <= opset) continue;
        left_out.push_back(
            fmt::format("{} needs {}, which ONNX has since opset {}", rule.name, op, first));
        return true;
      }
      return false;
    });
  }
  return left_out;
}

core::Result<OptimizeJob> prepare(const OptimizeArguments& options, Session& session) {
  session.console.stage("reading rules");
  SOAPSTONE_ASSIGN_OR_RETURN(LoadedRules rules, load_rules(options.rules, session));
  SOAPSTONE_RETURN_IF_ERROR(refuse_unproved(rules, options.rules));
  return prepare(options, std::move(rules), session);
}

core::Result<OptimizeJob> prepare(const OptimizeArguments& options, LoadedRules rules,
                                  Session& session) {
  OptimizeJob job;
  job.rules = std::move(rules);
  SOAPSTONE_ASSIGN_OR_RETURN(job.model, read_model(options.model, options.shapes, session));
  if (options.strict && !job.model.opaque_nodes.empty()) {
    const models::OpaqueNode& first = job.model.opaque_nodes.front();
    return core::unsupported(fmt::format("{} operators are not understood, first {} ({}): {}",
                                         job.model.opaque_nodes.size(), first.name, first.op_type,
                                         first.reason),
                             "without --strict they are kept as they are")
        .at(options.model);
  }
  for (const std::string& rule : leave_out_unwritable(job.rules, job.model.opset)) {
    session.console.log(core::LogLevel::kInfo,
                        fmt::format("{}: {}; the rule is left out", options.model, rule));
  }
  for (const models::OpaqueNode& node : job.model.opaque_nodes) {
    session.console.log(core::LogLevel::kWarning,
                        fmt::format("{}: {} ({}) is kept as it is: {}", options.model, node.name,
                                    node.op_type, node.reason));
  }
  SOAPSTONE_ASSIGN_OR_RETURN(job.backend, make_backend(options.device));
  const runtime::Fusion fusion = options.device.fusion_level();
  if (options.costs == "roofline") {
    job.cost = cost::make_roofline_cost(fusion);
  } else if (options.costs == "taso") {
    job.cost = cost::make_taso_cost();
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(job.database, open_costs(options.device));
    job.cost =
        cost::make_measured_cost(*job.backend, fusion, job.database.get(), {.stop = &session.stop});
  }
  SOAPSTONE_ASSIGN_OR_RETURN(job.optimize.objective, objective_of(options.objective));
  job.optimize.peak_limit_bytes = peak_limit_bytes(options.objective);
  job.optimize.search = options.search;
  job.optimize.search.strategy = *search::parse_strategy(options.strategy);
  if (!options.trace.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(job.trace, TraceWriter::create(options.trace));
    job.optimize.search.trace = job.trace.get();
  }
  if (!options.resume.empty()) {
    job.checkpoint = std::make_unique<search::Checkpoint>(options.resume);
    job.optimize.search.checkpoint = job.checkpoint.get();
  }
  job.optimize.fusion = fusion;
  // The steps are taken again at other sizes where the file leaves sizes open.
  job.optimize.record_chain = !options.proof.empty() || !models::open_dimensions(job.model).empty();
  job.optimize.writable = writable_in(job, options.keep_constants);
  job.optimize.measure = options.costs == "measured";
  // What could not be timed or checked afterwards is not worth a search.
  if (job.optimize.measure || options.verify != "off") {
    SOAPSTONE_RETURN_IF_ERROR(check_can_run(options.model, job.model.graph));
  }
  // Who has little time to search has little time for timing.
  if (options.search.time_s > 0)
    job.optimize.measure_time_s = std::clamp(options.search.time_s, 2.0, 20.0);
  SOAPSTONE_ASSIGN_OR_RETURN(job.optimize.verify, verify_options(options, job.model.graph));
  SOAPSTONE_RETURN_IF_ERROR(find_judge(options, job));
  return job;
}

}  // namespace soapstone::cli
