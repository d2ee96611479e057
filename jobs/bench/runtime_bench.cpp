// See runtime_bench.h.
#include "jobs/bench/runtime_bench.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/stop_scope.h"
#include "jobs/deployment/worker_timing.h"

namespace soapstone::jobs {
namespace {

constexpr int kMostProfiledRuns = 50;

core::Result<std::size_t> load_there(const std::string& path, const BenchRequest& request,
                                     Deployment& deployment, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(const models::OnnxModel model,
                             read_model(path, request.shapes, context));
  SOAPSTONE_RETURN_IF_ERROR(check_can_run(path, model.graph));
  context.progress.stage(fmt::format("loading {} in {}", path, deployment.worker.identity().name));
  SOAPSTONE_ASSIGN_OR_RETURN(const TimedFile file,
                             load_to_time(deployment, path, model.graph, request.seed));
  return file.model;
}

/// A runtime that has no profile is no reason to lose the times.
core::Status add_kernels(std::size_t model, const BenchRequest& request, Deployment& deployment,
                         const Context& context, BenchOutcome& outcome) {
  context.progress.stage("profiling");
  auto profile = deployment.worker.profile(model, std::min(request.rounds, kMostProfiledRuns));
  if (profile) {
    outcome.kernels = *std::move(profile);
    return core::Done{};
  }
  if (profile.error().code != core::ErrorCode::kUnsupported) return profile.error();
  context.progress.log(core::LogLevel::kWarning,
                       fmt::format("{} has no profile: {}", deployment.worker.identity().name,
                                   profile.error().message));
  return core::Done{};
}

}  // namespace

core::Result<BenchOutcome> bench_in(Deployment deployment, const BenchRequest& request,
                                    const Context& context) {
  const core::StopScope scope(&context.stop);
  BenchOutcome outcome;
  outcome.runtime = deployment.description();
  std::vector<std::size_t> models;
  for (const std::string& path : {request.model, request.against}) {
    if (path.empty()) continue;
    SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model,
                               load_there(path, request, deployment, context));
    models.push_back(model);
    outcome.models.push_back({path, {}, {}});
    SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  }
  context.progress.stage(models.size() > 1 ? "timing in turn" : "timing");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto samples,
      sample_in_turn(deployment, models, {request.rounds, request.time_s, {}}, context.stop));
  outcome.is_processor_time = is_processor_time(deployment, samples);
  for (std::size_t k = 0; k < models.size(); ++k)
    outcome.models[k].timing = timing_of(samples[k], outcome.is_processor_time);
  if (models.size() > 1)
    outcome.ratio = comparison_of(samples[1], samples[0], outcome.is_processor_time).ratio;
  if (request.breakdown) {
    SOAPSTONE_RETURN_IF_ERROR(add_kernels(models[0], request, deployment, context, outcome));
    SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  }
  return outcome;
}

}  // namespace soapstone::jobs
