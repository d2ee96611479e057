// The measured cost model: the plan that the executor would follow, each launch and conversion of
// it looked up in memory, then in the database, then timed, and only then estimated.
#include "cost/models/measured_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "cost/models/calibration.h"
#include "cost/models/contradictions.h"
#include "cost/models/estimate_scale.h"
#include "cost/models/launch_cache.h"
#include "cost/models/roofline.h"
#include "cost/timing/kernel_choice.h"
#include "cost/timing/kernel_timing.h"
#include "cost/timing/layout_ways.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::cost {
namespace {

constexpr std::string_view kReferenceKernel = "reference";

using core::Graph;
using runtime::ExecutionPlan;
using runtime::RewriteStep;

/// A launch or a conversion of a plan.
struct Step {
  const Graph& graph;
  const ExecutionPlan& plan;
  RewriteStep step;

  bool is_launch() const { return step.kind == RewriteStep::Kind::kLaunch; }
  const runtime::Launch& launch() const { return plan.launches[step.number]; }
  const runtime::LaunchLayouts& layouts() const { return plan.layouts[step.number]; }
  const runtime::Conversion& conversion() const { return plan.conversions[step.number]; }
  const core::TensorType& converted() const { return graph.tensor(conversion().tensor).type; }

  std::uint64_t hash() const {
    if (is_launch()) return runtime::launch_hash(graph, launch(), layouts());
    return runtime::conversion_hash(converted(), conversion().from, conversion().to);
  }
  std::string signature() const {
    if (is_launch()) return runtime::launch_signature(graph, launch(), layouts());
    return runtime::conversion_signature(converted(), conversion().from, conversion().to);
  }
  std::string description() const {
    if (is_launch()) return describe(graph, launch());
    return fmt::format("convert to {} {}", to_string(conversion().to),
                       core::to_string(converted().shape, graph.symbols()));
  }
  LaunchWork work() const {
    if (is_launch()) return launch_work(graph, launch());
    return {0, 2 * static_cast<double>(runtime::storage_bytes(converted()))};
  }
  core::Result<Measurement> time(runtime::Backend& backend, const TimingOptions& options) const {
    if (is_launch()) return time_best_kernel(backend, graph, launch(), layouts(), options);
    return time_conversion(backend, converted(), conversion().from, conversion().to, options);
  }
};

/// A time counts as contradicted if it is so many times what its parts take one by one, or what a
/// larger launch takes; some kernels like larger sizes better.
constexpr double kBesideParts = 1.3, kBesideLarger = 1.5;
/// Measurements of one launch, in this run, that a contradiction asks for.
constexpr int kMostAgain = 2;
/// Samples, of all runs together, after which a time is believed in spite of contradictions.
constexpr int kEnoughSamples = 36;

/// The nodes of a launch as launches of their own, those that take time.
ExecutionPlan parts_of(const Graph& graph, const runtime::Launch& launch,
                       const runtime::LaunchLayouts& layouts, const runtime::FusionRules& alone) {
  const auto layout_of = [&](core::TensorId tensor) {
    const auto at = std::ranges::find(launch.inputs, tensor);
    const auto number = static_cast<std::size_t>(at - launch.inputs.begin());
    if (at != launch.inputs.end() && number < layouts.inputs.size()) return layouts.inputs[number];
    const auto same_rank = [&](core::TensorId output) {
      return graph.tensor(output).type.shape.size() == graph.tensor(tensor).type.shape.size();
    };
    const bool as_result = !layouts.outputs.empty() && same_rank(launch.outputs.front());
    return as_result ? layouts.outputs.front() : runtime::Layout::kRowMajor;
  };
  ExecutionPlan plan;
  for (const core::NodeId node : launch.nodes()) {
    if (runtime::is_free(graph, node)) continue;
    const runtime::Launch& part =
        plan.launches.emplace_back(runtime::grow_launch(graph, node, alone));
    runtime::LaunchLayouts& how = plan.layouts.emplace_back();
    for (const core::TensorId input : part.inputs) how.inputs.push_back(layout_of(input));
    for (const core::TensorId output : part.outputs) how.outputs.push_back(layout_of(output));
    plan.steps.push_back(
        {RewriteStep::Kind::kLaunch, static_cast<std::uint32_t>(plan.launches.size() - 1)});
  }
  return plan;
}

/// In the order in which they run; views cost nothing.
std::vector<Step> steps_of(const Graph& graph, const ExecutionPlan& plan) {
  std::vector<Step> steps;
  steps.reserve(plan.steps.size());
  for (const RewriteStep& step : plan.steps) {
    if (step.kind != RewriteStep::Kind::kView) steps.push_back({graph, plan, step});
  }
  return steps;
}

class MeasuredCost final : public CostModel {
 public:
  MeasuredCost(runtime::Backend& backend, runtime::Fusion fusion, CostDatabase* database,
               std::string device, std::optional<TimingOptions> timing,
               DeviceEstimates estimates = {})
      : backend_(backend), fusion_(fusion), database_(database), device_(std::move(device)),
        timing_(timing), estimates_(std::move(estimates)) {}

  GraphCost graph_cost(const Graph& graph) override {
    const ExecutionPlan plan = plan_of(graph);
    return sum(price(steps_of(graph, plan)));
  }

  bool needs_quiet_machine() const override { return timing_.has_value(); }
  bool is_timed() const override { return true; }

  const runtime::FusionRules& fusion_rules() const override { return backend_.fusion(fusion_); }

  std::vector<Item> breakdown(const Graph& graph) override {
    const ExecutionPlan plan = plan_of(graph);
    const std::vector<Step> steps = steps_of(graph, plan);
    const auto priced = price(steps);
    std::vector<Item> items;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      items.push_back({steps[i].description(), priced[i]->cost, priced[i]->implementation});
    }
    return items;
  }

  std::string description() const override { return device_; }

 private:
  /// The plan that the executor follows once costs have decided on layouts.
  ExecutionPlan plan_of(const Graph& graph) {
    auto launches = backend_.cover(graph, fusion_);
    if (launches) price_layouts(graph, *launches);
    return runtime::plan_execution(graph, backend_, fusion_, std::move(launches));
  }

  /// Tells the backend what launches cost in all layouts that it chooses from. What is not measured
  /// decides nothing.
  void price_layouts(const Graph& graph, std::span<const runtime::Launch> launches) {
    const ExecutionPlan ways = all_layouts(graph, backend_, launches);
    const std::vector<Step> steps = steps_of(graph, ways);
    const auto priced = price(steps);
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (!priced[k]->cost.estimated)
        backend_.note_cost(steps[k].signature(), priced[k]->cost.cost_us);
  }

  std::vector<const Priced*> price(const std::vector<Step>& steps) {
    std::vector<std::uint64_t> keys;
    keys.reserve(steps.size());
    for (const Step& step : steps) keys.push_back(step.hash());
    return cache_.find_or_price(keys, [&](std::size_t i) { return price_step(steps[i]); });
  }

  // From here on the caller holds the cache's lock for pricing: one thread at a time.

  Priced price_step(const Step& step) {
    auto measured = find_or_measure(step);
    if (!measured) return estimate(step, measured.error().message);
    if (timing_) confirm(step, *measured);
    return {{rounded_us(measured->cost_us), measured->spread_us, false}, measured->implementation};
  }

  core::Result<Measurement> find_or_measure(const Step& step) {
    const std::string signature = step.signature();
    if (database_) {
      if (auto known = database_->find(device_, signature)) {
        if (step.is_launch()) backend_.choose(signature, known->implementation);
        if (may_time() && !is_believed(step, *known)) return repeat(step, signature, *known);
        return *known;
      }
    }
    if (!timing_) return core::unavailable("no cost of it was recorded");
    if (timing_->must_stop()) return core::unavailable("interrupted before it was timed");
    const auto measured = step.time(backend_, *timing_);
    if (!measured) {
      const bool is_interrupted = measured.error().code == core::ErrorCode::kInterrupted;
      if (timing_->failed && !is_interrupted) timing_->failed(measured.error());
      return measured.error();
    }
    if (!is_believed(step, *measured)) return repeat(step, signature, *measured);
    keep(signature, *measured);
    return *measured;
  }

  void keep(const std::string& signature, const Measurement& measured) {
    known_times().note(signature, measured.cost_us);
    // A database that cannot be written costs time in the next run, nothing else.
    if (database_ && database_->store(device_, signature, measured) && timing_->kept)
      timing_->kept();
  }

  /// The times of this run, and of all before it.
  KnownTimes& known_times() {
    if (!known_times_)
      known_times_.emplace(database_ ? database_->entries(device_)
                                     : std::vector<CostDatabase::Entry>());
    return *known_times_;
  }

  /// A time that was taken while the machine did other things would hide for good what the launch
  /// gains: what contradicts other times is measured again, and the least time counts. The samples
  /// in the database are those of all its measurements.
  void confirm(const Step& step, Measurement& measured) {
    const std::string signature = step.signature();
    for (int again = 0; again < kMostAgain && measured.samples < kEnoughSamples; ++again) {
      if (timing_->must_stop() || !is_contradicted(step, signature, measured.cost_us)) return;
      auto fresh = step.time(backend_, *timing_);
      if (!fresh) return;
      fresh->samples += measured.samples;
      if (fresh->cost_us > measured.cost_us) {
        measured.samples = fresh->samples;
        if (step.is_launch()) backend_.choose(signature, measured.implementation);
      } else {
        measured = *std::move(fresh);
      }
      keep(signature, measured);
    }
  }

  bool is_contradicted(const Step& step, const std::string& signature, double cost_us) {
    const auto larger_us = known_times().least_of_larger(signature);
    if (larger_us && cost_us > kBesideLarger * *larger_us) return true;
    return step.is_launch() && step.launch().nodes().size() > 1 &&
           is_more_than_parts(step, cost_us);
  }

  /// Parts of which no time is known are timed only if the others leave room for a doubt.
  bool is_more_than_parts(const Step& step, double cost_us) {
    const ExecutionPlan parts = parts_of(step.graph, step.launch(), step.layouts(),
                                         backend_.fusion(runtime::Fusion::kNone));
    const std::vector<Step> steps = steps_of(step.graph, parts);
    double sum_us = 0;
    std::vector<const Step*> unknown;
    for (const Step& part : steps) {
      const auto us = known_times().find(part.signature());
      if (us)
        sum_us += *us;
      else
        unknown.push_back(&part);
    }
    if (unknown.size() == steps.size()) return false;
    for (const Step* part : unknown) {
      if (cost_us <= kBesideParts * sum_us) return false;
      const auto measured = find_or_measure(*part);
      if (!measured) return false;
      sum_us += measured->cost_us;
    }
    return cost_us > kBesideParts * sum_us;
  }

  bool may_time() const { return timing_ && !timing_->must_stop(); }

  /// Nobody expects speed of reference kernels.
  static bool is_believed(const Step& step, const Measurement& measured) {
    return measured.implementation == kReferenceKernel ||
           !is_doubtful(measured.cost_us, roofline_us(step.work(), one_core()));
  }

  /// Times it again until the cost can be believed, a few times at most, and keeps the lowest.
  Measurement repeat(const Step& step, const std::string& signature, Measurement lowest) {
    for (int k = 0; k < kMostRepeats && may_time() && !is_believed(step, lowest); ++k) {
      auto again = step.time(backend_, *timing_);
      if (again && again->cost_us < lowest.cost_us) lowest = *std::move(again);
    }
    if (step.is_launch()) backend_.choose(signature, lowest.implementation);
    keep(signature, lowest);
    return lowest;
  }

  /// Scaled by what was measured of the device, if that is all that there will be.
  Priced estimate(const Step& step, std::string_view why) {
    const double us = step.is_launch() ? launch_estimate_us(step.graph, step.launch())
                                       : copy_estimate_us(step.work());
    if (timing_ || !database_) return {{rounded_us(us), 0, true}, fmt::format("estimate: {}", why)};
    if (!scale_)
      scale_.emplace(database_->entries(device_),
                     [this](const Graph& graph, const runtime::Launch& launch) {
                       return launch_estimate_us(graph, launch);
                     });
    const EstimateScale::Scale scale = step.is_launch()
                                           ? scale_->scale_for(step.graph, step.launch())
                                           : scale_->scale_for(step.work());
    std::string note = fmt::format("estimate: {}", why);
    if (scale.launches > 0)
      note +=
          fmt::format("; times {:.3g}, as measured of {} like it", scale.factor, scale.launches);
    return {{rounded_us(std::max(us * scale.factor, scale_->least_us())), 0, true},
            std::move(note)};
  }

  double launch_estimate_us(const Graph& graph, const runtime::Launch& launch) {
    if (estimates_.launch_us) return estimates_.launch_us(graph, launch);
    return roofline_us(launch_work(graph, launch), calibration());
  }
  double copy_estimate_us(const LaunchWork& work) {
    if (estimates_.copy_us) return estimates_.copy_us(work.bytes);
    return roofline_us(work, calibration());
  }

  const RooflineParameters& calibration() {
    if (!calibration_)
      calibration_ = calibrate([this](const Graph& graph) { return time_of(graph); });
    return *calibration_;
  }

  std::optional<double> time_of(const Graph& graph) {
    const ExecutionPlan plan = runtime::plan_execution(graph, backend_, fusion_);
    double total_us = 0;
    for (const Step& step : steps_of(graph, plan)) {
      const auto measured = find_or_measure(step);
      if (!measured) return std::nullopt;
      total_us += measured->cost_us;
    }
    return total_us;
  }

  runtime::Backend& backend_;
  runtime::Fusion fusion_;
  CostDatabase* database_;
  std::string device_;
  std::optional<TimingOptions> timing_;  // none: nothing is measured
  DeviceEstimates estimates_;
  LaunchCache cache_;
  std::optional<RooflineParameters> calibration_;
  std::optional<EstimateScale> scale_;
  std::optional<KnownTimes> known_times_;
};

}  // namespace

std::unique_ptr<CostModel> make_measured_cost(runtime::Backend& backend, runtime::Fusion fusion,
                                              CostDatabase* database,
                                              const TimingOptions& options) {
  return std::make_unique<MeasuredCost>(backend, fusion, database, backend.device().key(), options);
}

std::unique_ptr<CostModel> make_recorded_cost(runtime::Backend& backend, runtime::Fusion fusion,
                                              CostDatabase* database, std::string device,
                                              DeviceEstimates estimates) {
  return std::make_unique<MeasuredCost>(backend, fusion, database, std::move(device), std::nullopt,
                                        std::move(estimates));
}

}  // namespace soapstone::cost
