// See bench.h.
#include "jobs/bench/bench.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cost/timing/kernel_choice.h"
#include "jobs/base/guard.h"
#include "jobs/bench/runtime_bench.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

/// A model that has run once and can be timed.
struct Loaded {
  core::Graph graph;
  runtime::Executable executable;
};

/// Launches whose kernels were chosen by measurement before run by these; if factors may be
/// rounded, the others are measured now.
core::Result<Loaded> load(const std::string& path, const BenchRequest& request,
                          runtime::Backend& backend, cost::CostDatabase* database,
                          const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(models::OnnxModel model, read_model(path, request.shapes, context));
  SOAPSTONE_RETURN_IF_ERROR(check_can_run(path, model.graph));
  if (request.device.rounds()) {
    context.progress.stage("choosing kernels for " + path);
    cost::make_measured_cost(backend, request.device.fusion, database, {.stop = &context.stop})
        ->graph_cost(model.graph);
    SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  } else if (database) {
    cost::recall_kernels(backend, model.graph, request.device.fusion, *database);
  }
  context.progress.stage("compiling " + path);
  auto executable =
      runtime::Executable::make(model.graph, backend, {.fusion = request.device.fusion});
  if (!executable) return executable.error().at(path);
  const auto inputs = search::sample_inputs(model.graph, search::SampleKind::kNormal, request.seed);
  if (auto outputs = executable->run(inputs); !outputs) return outputs.error().at(path);
  for (const auto& [node, why] : executable->report().reference_kernels) {
    context.progress.log(
        core::LogLevel::kWarning,
        fmt::format("{}: {} runs on a slow reference kernel: {}", path, node, why));
  }
  return Loaded{std::move(model.graph), *std::move(executable)};
}

core::Result<RoundingError> rounding_of(const core::Graph& graph, runtime::Backend& exact,
                                        runtime::Backend& rounding, const BenchRequest& request,
                                        cost::CostDatabase* database, const Context& context) {
  context.progress.stage("measuring the rounding error");
  const runtime::Fusion fusion = request.device.fusion;
  SOAPSTONE_ASSIGN_OR_RETURN(
      RoundingError error,
      measure_rounding({graph, exact}, {graph, rounding}, fusion, request.seed, {}));
  error.precision = request.device.precision;
  const auto cost = cost::make_measured_cost(rounding, fusion, database, {.stop = &context.stop});
  count_rounded(cost->breakdown(graph), error);
  return error;
}

core::Result<BenchOutcome> bench_here(const BenchRequest& request, cost::CostDatabase* database,
                                      const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend(request.device));
  std::unique_ptr<cost::CostDatabase> own;
  if (request.device.rounds() && !database) {
    SOAPSTONE_ASSIGN_OR_RETURN(own, cost::CostDatabase::in_memory());
    database = own.get();
  }
  BenchOutcome report;
  report.device = backend->device().key();
  report.fusion = request.device.fusion;
  SOAPSTONE_ASSIGN_OR_RETURN(Loaded model,
                             load(request.model, request, *backend, database, context));
  report.models.push_back({request.model, {}, model.executable.report()});
  const double time_us = request.time_s * 1e6;
  std::unique_ptr<runtime::Backend> exact;
  if (request.device.rounds()) {
    SOAPSTONE_ASSIGN_OR_RETURN(exact, make_exact_backend(request.device));
    SOAPSTONE_ASSIGN_OR_RETURN(
        report.rounding, rounding_of(model.graph, *exact, *backend, request, database, context));
  }
  const bool beside_exact = exact && request.against.empty();
  if (request.against.empty() && !exact) {
    context.progress.stage("timing");
    runtime::Executable* const alone[] = {&model.executable};
    SOAPSTONE_ASSIGN_OR_RETURN(const auto timings,
                               cost::time_in_turn(alone, request.rounds, time_us, context.stop));
    report.models[0].timing = timings[0];
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(Loaded other,
                               load(beside_exact ? request.model : request.against, request,
                                    beside_exact ? *exact : *backend, database, context));
    context.progress.stage("timing in turn");
    SOAPSTONE_ASSIGN_OR_RETURN(const cost::Comparison comparison,
                               cost::compare_and_time(other.executable, model.executable,
                                                      request.rounds, time_us, context.stop));
    report.models[0].timing = comparison.b;
    report.models.push_back({beside_exact ? request.model + " in f32" : request.against,
                             comparison.a, other.executable.report()});
    report.ratio = comparison.ratio;
  }
  SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  if (request.breakdown) {
    context.progress.stage("timing launches");
    report.launches =
        cost::make_measured_cost(*backend, report.fusion, database, {.stop = &context.stop})
            ->breakdown(model.graph);
    SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());  // what was not timed is an estimate
  }
  return report;
}

/// None: our executor is meant, or takes the place of a runtime that was not named.
core::Result<std::optional<BenchOutcome>> bench_there(const BenchRequest& request,
                                                      const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(OpenedDeployment opened,
                             open_deployment(request.runtime, request.device.threads));
  if (opened.deployment) {
    auto outcome = bench_in(*std::move(opened.deployment), request, context);
    if (outcome) return std::optional(*std::move(outcome));
    const core::Error& error = outcome.error();
    const bool is_runtimes =
        error.code == core::ErrorCode::kUnsupported || error.code == core::ErrorCode::kUnavailable;
    if (!is_runtimes || request.runtime.kind == RuntimeRequest::Kind::kWorker) return error;
    opened.why_not = error.message;
  }
  if (!opened.why_not.empty()) {
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}; timed on our own executor", opened.why_not));
  }
  return std::optional<BenchOutcome>();
}

core::Result<BenchOutcome> bench_unguarded(const BenchRequest& request,
                                           cost::CostDatabase* database, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto elsewhere, bench_there(request, context));
  if (elsewhere) return *std::move(elsewhere);
  return bench_here(request, database, context);
}

}  // namespace

core::Result<BenchOutcome> bench(const BenchRequest& request, cost::CostDatabase* database,
                                 const Context& context) {
  return guarded(context,
                 [&](const Context& inner) { return bench_unguarded(request, database, inner); });
}

core::Status import_costs(const std::string& path, cost::CostDatabase& database,
                          const Context& context) {
  if (path.empty()) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t count, database.import_json_lines(path));
  context.progress.log(core::LogLevel::kInfo, fmt::format("read {} costs from {}", count, path));
  return core::Done{};
}

core::Status export_costs(const std::string& path, cost::CostDatabase& database,
                          const Context& context) {
  if (path.empty()) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t count, database.export_json_lines(path));
  context.progress.log(core::LogLevel::kInfo, fmt::format("wrote {} costs to {}", count, path));
  return core::Done{};
}

}  // namespace soapstone::jobs
