// See worker_timing.h.
#include "jobs/deployment/worker_timing.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "cost/timing/statistics.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

/// Time between two looks at whether to stop.
constexpr double kSliceS = 1;
/// Rounds before the first look at the samples. With fewer it would often mislead.
constexpr int kRoundsAtOnce = 12;

std::vector<workers::NamedTensor> inputs_of(const core::Graph& graph, search::SampleKind kind,
                                            std::uint64_t seed) {
  const auto values = search::sample_inputs(graph, kind, seed);
  std::vector<workers::NamedTensor> inputs;
  for (std::size_t k = 0; k < values.size(); ++k)
    inputs.push_back({graph.tensor(graph.inputs()[k]).name, values[k]});
  return inputs;
}

core::Status prepare_and_run(workers::RuntimeWorker& worker, TimedFile& file) {
  SOAPSTONE_RETURN_IF_ERROR(worker.prepare(file.model, file.inputs));
  const double begin_s = core::wall_s();
  SOAPSTONE_ASSIGN_OR_RETURN(const auto samples, worker.time(std::span(&file.model, 1), 3, 0));
  (void)samples;
  file.first_s = core::wall_s() - begin_s;
  return core::Done{};
}

core::Error about(const core::Error& error, const Deployment& deployment,
                  const std::filesystem::path& file) {
  if (error.code != core::ErrorCode::kUnsupported) return error;
  core::Error told = error.at(file.string());
  const std::string& runtime = deployment.worker.identity().name;
  if (!told.message.starts_with(runtime))
    told.message = runtime + " cannot run the model: " + told.message;
  told.hint = "try another version of the runtime or other options of it, or set `runtime` to "
              "soapstone, our own executor";
  return told;
}

const std::vector<double>& times(const workers::Samples& samples, bool processor_time) {
  return processor_time ? samples.cpu_us : samples.wall_us;
}

}  // namespace

core::Result<TimedFile> load_to_time(Deployment& deployment, const std::filesystem::path& file,
                                     const core::Graph& graph, std::uint64_t seed) {
  TimedFile loaded;
  const double begin_s = core::wall_s();
  const auto model = deployment.worker.load(file, deployment.load);
  if (!model) return about(model.error(), deployment, file);
  loaded.model = *model;
  loaded.load_s = core::wall_s() - begin_s;
  core::Status runs = core::Done{};
  // Indices that come out of arithmetic may be out of range on ordinary inputs.
  for (const auto kind : {search::SampleKind::kNormal, search::SampleKind::kZero}) {
    loaded.inputs = inputs_of(graph, kind, seed);
    runs = prepare_and_run(deployment.worker, loaded);
    if (runs || runs.error().code != core::ErrorCode::kUnsupported) break;
  }
  if (runs) return loaded;
  deployment.worker.close(loaded.model);
  return about(runs.error(), deployment, file);
}

core::Result<std::vector<workers::Samples>> sample_in_turn(Deployment& deployment,
                                                           std::span<const std::size_t> models,
                                                           const TurnOptions& options,
                                                           const core::StopToken& stop) {
  const double end_s = core::wall_s() + options.budget_s;
  std::vector<workers::Samples> all(models.size());
  for (int rounds = 0;;) {
    const double left_us = 1e6 * std::clamp(end_s - core::wall_s(), 0.0, kSliceS);
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto more,
        deployment.worker.time(models, std::min(kRoundsAtOnce, options.most_rounds - rounds),
                               left_us));
    for (std::size_t k = 0; k < models.size(); ++k) {
      const auto append = [](const std::vector<double>& from, std::vector<double>& to) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(more[k].wall_us, all[k].wall_us);
      append(more[k].cpu_us, all[k].cpu_us);
    }
    if (stop.stop_requested())
      return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
    rounds = static_cast<int>(all.front().wall_us.size());
    const bool may_be_enough = rounds >= kRoundsAtOnce && options.is_enough;
    if (core::wall_s() >= end_s || rounds >= options.most_rounds ||
        (may_be_enough && options.is_enough(all)))
      return all;
  }
}

bool is_processor_time(const Deployment& deployment, std::span<const workers::Samples> samples) {
  const auto is_known = [](double us) { return us > 0; };
  return deployment.is_on_processor() && deployment.load.threads == 1 &&
         std::ranges::all_of(samples, [&](const workers::Samples& of_one) {
           return std::ranges::all_of(of_one.cpu_us, is_known);
         });
}

cost::Timing timing_of(const workers::Samples& samples, bool processor_time) {
  const std::vector<double>& us = times(samples, processor_time);
  const cost::MedianInterval interval = cost::median_interval(us);
  return {interval.median, interval.low, interval.high, static_cast<int>(us.size())};
}

cost::Comparison comparison_of(const workers::Samples& a, const workers::Samples& b,
                               bool processor_time) {
  const std::vector<double>& of_a = times(a, processor_time);
  const std::vector<double>& of_b = times(b, processor_time);
  std::vector<double> ratios;
  for (std::size_t k = 0; k < of_a.size(); ++k) ratios.push_back(of_a[k] / of_b[k]);
  const cost::MedianInterval ratio = cost::median_interval(std::move(ratios));
  return {timing_of(a, processor_time),
          timing_of(b, processor_time),
          {ratio.median, ratio.low, ratio.high}};
}

}  // namespace soapstone::jobs
