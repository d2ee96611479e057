// See described_step.h.
#include "parallel/described/described_step.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "parallel/described/step_figures.h"
#include "parallel/simulation/problem_builder.h"

namespace soapstone::parallel {
namespace {

constexpr double kUsOfS = 1e6, kBytesOfFrameworkMb = 1e6;
constexpr double kMostPartsTold = 60000;
constexpr std::size_t kNoTask = std::numeric_limits<std::size_t>::max();

DescribedMemory memory_of(const DescribedPlan& plan, const StepFigures& figures,
                          std::size_t stage) {
  const StageSizes& sizes = figures.sizes[stage];
  const DescribedFramework& framework = plan.framework;
  const auto samples = static_cast<double>(plan.microbatch);
  std::int64_t gpus = 0;
  for (const DescribedStage& each : plan.stages)
    gpus += each.tensor_parallel * static_cast<std::int64_t>(each.devices.size());
  DescribedMemory memory;
  memory.parameter_bytes = memory.gradient_bytes = sizes.parameter_bytes;
  memory.state_bytes = 2 * sizes.parameter_bytes;
  memory.saved_bytes =
      sizes.saved_bytes * samples * static_cast<double>(microbatches_under_way(plan, stage));
  memory.working_bytes = sizes.largest_saved_bytes * samples;
  if (sizes.parameters > 0)
    memory.bucket_bytes =
        sizes.parameter_bytes * std::min(1.0, framework.bucket_elements / sizes.parameters);
  memory.fragment_bytes = framework.fragmentation * (memory.saved_bytes + memory.working_bytes);
  const double groups = gpus == 1 ? 0 : static_cast<double>(framework.communicators);
  memory.framework_bytes =
      (framework.context_mb + groups * framework.communicator_mb) * kBytesOfFrameworkMb;
  return memory;
}

/// `stage 1: 16 x 4 GH-96`; with the first of the replicas where others are not alike.
std::string lane_name(const DescribedPlan& plan, const StepFigures& figures,
                      const AlikeReplicas& alike, std::size_t stage) {
  const bool is_only = figures.replicas.size() == 1;
  return fmt::format("stage {}{}: {}{} {}", stage,
                     is_only ? "" : fmt::format(", replica {}", alike.first),
                     alike.count == 1 ? "" : fmt::format("{} x ", alike.count),
                     plan.stages[stage].tensor_parallel, plan.stages[stage].devices[alike.first]);
}

/// A lane for each stage of each kind of replica, all joined by wires that take no time: what a
/// handover takes is a task of both lanes.
core::Result<Topology> lanes_of(const DescribedPlan& plan, const Profiles& profiles,
                                const StepFigures& figures) {
  Network network{"lanes", {}, {}, {}, {"all"}, {}};
  std::map<std::string, std::size_t> kinds;
  for (const AlikeReplicas& alike : figures.replicas)
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const std::string& device = plan.stages[s].devices[alike.first];
      const auto [kind, is_new] = kinds.emplace(device, network.kinds.size());
      if (is_new)
        network.kinds.push_back({device,
                                 device,
                                 profiles.devices.at(device).memory_bytes,
                                 1.0,
                                 {{core::DataType::kFloat32, 1.0}}});
      network.devices.push_back(lane_name(plan, figures, alike, s));
      network.kind_of.push_back(kind->second);
    }
  for (std::size_t lane = 0; lane < network.devices.size(); ++lane)
    network.wires.push_back({lane, network.devices.size(), 0, 1e18});
  return Topology::make(std::move(network));
}

class DescribedStepMaker {
 public:
  DescribedStepMaker(const DescribedPlan& plan, const StepFigures& figures, std::size_t kinds,
                     ProblemBuilder builder)
      : plan_(plan), figures_(figures), kinds_(kinds), stages_(plan.stages.size()),
        builder_(std::move(builder)), previous_(stages_ * figures.replicas.size(), kNoTask),
        forward_of_(previous_.size()) {}

  core::Result<SimulatedStep> run() {
    const std::int64_t rounds = plan_.microbatches + static_cast<std::int64_t>(stages_) - 1;
    for (std::int64_t slot = 0; slot < 2 * rounds; ++slot)
      for (std::size_t k = 0; k < figures_.replicas.size(); ++k) {
        for (std::size_t s = 0; s + 1 < stages_; ++s) add_handover(k, s, slot);
        for (std::size_t s = 0; s < stages_; ++s) add_pass(k, s, slot);
      }
    for (std::size_t s = 0; s < stages_; ++s) add_sum(s);
    for (std::size_t k = 0; k < figures_.replicas.size(); ++k)
      for (std::size_t s = 0; s < stages_; ++s)
        add(StepPart::kUpdate, "update", {lane(k, s)}, -1, true,
            figures_.replicas[k].stages[s].update_s);
    SOAPSTONE_ASSIGN_OR_RETURN(step_.problem, builder_.finish(kLongestTold));
    step_.placement.choice.assign(step_.problem.operators.size(), 0);
    step_.timeline = simulate(step_.problem, step_.placement, {});
    step_.plan_us = to_us(step_.timeline.end);
    return std::move(step_);
  }

 private:
  struct Held {
    double resident_bytes = 0, output_bytes = 0;
  };

  std::size_t lane(std::size_t replicas, std::size_t stage) const {
    return replicas * stages_ + stage;
  }
  /// The microbatch whose turn comes `slot − first` slots after the first one's, every second slot;
  /// −1: none's.
  std::int64_t turn(std::int64_t slot, std::int64_t first) const {
    const std::int64_t since = slot - first;
    return since < 0 || since % 2 != 0 || since / 2 >= plan_.microbatches ? -1 : since / 2;
  }
  /// Stages take turns: a forward pass of microbatch m on stage s has slot 2m + s, its backward
  /// pass slot 2m + 2·stages − 1 − s. That is the order of 1F1B.
  std::int64_t backward_slot(std::size_t stage) const {
    return static_cast<std::int64_t>(2 * stages_ - 1 - stage);
  }

  /// What passes between a stage and the next before the passes of a slot: the gradient that the
  /// stage reads now, and the activation that the next one reads now.
  void add_handover(std::size_t k, std::size_t stage, std::int64_t slot) {
    const AlikeReplicas& replicas = figures_.replicas[k];
    const std::int64_t gradient = turn(slot, backward_slot(stage));
    const std::int64_t activation = turn(slot, static_cast<std::int64_t>(stage) + 1);
    if (gradient < 0 && activation < 0) return;
    const double back = gradient < 0 ? 0 : replicas.gradient_s[stage];
    const double there = activation < 0 ? 0 : replicas.activation_s[stage];
    const bool in_turn = plan_.framework.handovers == HandoverOrder::kInTurn;
    add(StepPart::kExchange, "handover", {lane(k, stage), lane(k, stage + 1)},
        activation < 0 ? gradient : activation, activation < 0,
        in_turn ? back + there : std::max(back, there));
  }

  void add_pass(std::size_t k, std::size_t stage, std::int64_t slot) {
    const StageTimes& times = figures_.replicas[k].stages[stage];
    const std::size_t at = lane(k, stage);
    const DescribedMemory memory = memory_of(plan_, figures_, stage);
    const double reserved = 1 + plan_.framework.fragmentation;
    if (const std::int64_t m = turn(slot, static_cast<std::int64_t>(stage)); m >= 0) {
      const double saved =
          memory.saved_bytes / static_cast<double>(microbatches_under_way(plan_, stage));
      const double fixed =
          memory.total_bytes() - reserved * (memory.saved_bytes + memory.working_bytes);
      forward_of_[at].push_back(add(StepPart::kForward, "forward", {at}, m, false, times.forward_s,
                                    {m == 0 ? fixed : 0, reserved * saved}));
    }
    if (const std::int64_t m = turn(slot, backward_slot(stage)); m >= 0) {
      const std::size_t before = previous_[at];
      const std::uint32_t op = add(StepPart::kBackward, "backward", {at}, m, true, times.backward_s,
                                   {0, reserved * memory.working_bytes});
      if (const std::uint32_t forward = forward_of_[at][static_cast<std::size_t>(m)];
          forward != before)
        connect(forward, op);  // What the forward pass saved is held until then.
    }
  }

  /// All replicas of a stage wait for the slowest one.
  void add_sum(std::size_t stage) {
    double buckets_s = 0;
    std::vector<std::size_t> lanes;
    for (std::size_t k = 0; k < figures_.replicas.size(); ++k) {
      lanes.push_back(lane(k, stage));
      buckets_s = std::max(buckets_s, figures_.replicas[k].stages[stage].buckets_s);
    }
    add(StepPart::kExchange, "sum of gradients", lanes, -1, true,
        buckets_s + figures_.sum_s[stage]);
  }

  /// A task of one lane, or of several that begin it and end it together.
  std::uint32_t add(StepPart part, const char* name, const std::vector<std::size_t>& lanes,
                    std::int64_t microbatch, bool is_backward, double seconds, Held held = {0, 0}) {
    const auto op = builder_.add_operator(name, {{static_cast<std::uint32_t>(lanes.size()),
                                                  std::vector<double>(kinds_, seconds * kUsOfS),
                                                  {},
                                                  held.resident_bytes,
                                                  held.output_bytes}});
    std::set<std::size_t> before;
    for (const std::size_t at : lanes) {
      step_.placement.device.push_back(static_cast<std::uint8_t>(at));
      if (previous_[at] != kNoTask) before.insert(previous_[at]);
      previous_[at] = op;
    }
    lanes_of_.push_back(static_cast<std::uint32_t>(lanes.size()));
    step_.parts.push_back(part);
    step_.microbatch_of.push_back(microbatch);
    step_.is_backward.push_back(is_backward);
    for (const std::size_t from : before) connect(static_cast<std::uint32_t>(from), op);
    return op;
  }

  /// Each part waits for all of the other's, which end together.
  void connect(std::uint32_t from, std::uint32_t to) {
    builder_.add_edge(from, to, [&](std::size_t, std::size_t) {
      std::vector<OverlapSpec> overlaps;
      for (std::uint32_t a = 0; a < lanes_of_[from]; ++a)
        for (std::uint32_t b = 0; b < lanes_of_[to]; ++b) overlaps.push_back({a, b, 0});
      return overlaps;
    });
  }

  const DescribedPlan& plan_;
  const StepFigures& figures_;
  const std::size_t kinds_, stages_;
  ProblemBuilder builder_;
  SimulatedStep step_;
  std::vector<std::size_t> previous_;                   ///< Of each lane: its last operator.
  std::vector<std::vector<std::uint32_t>> forward_of_;  ///< By lane and microbatch.
  std::vector<std::uint32_t> lanes_of_;                 ///< How many an operator has.
};

core::Result<SimulatedStep> told_step(const DescribedPlan& plan, const Profiles& profiles,
                                      const StepFigures& figures) {
  const std::size_t lanes = plan.stages.size() * figures.replicas.size();
  if (lanes > kMostDevicesTold)
    return core::unsupported(
        fmt::format("{} stages on {} kinds of replicas are too many to be simulated: their product "
                    "may be {}",
                    plan.stages.size(), figures.replicas.size(), kMostDevicesTold));
  SOAPSTONE_ASSIGN_OR_RETURN(const Topology topology, lanes_of(plan, profiles, figures));
  SOAPSTONE_ASSIGN_OR_RETURN(
      ProblemBuilder builder,
      ProblemBuilder::make(topology, topology.device_count(), kMostDevicesTold));
  return DescribedStepMaker(plan, figures, topology.kinds().size(), std::move(builder)).run();
}

/// Passes, and handovers on both of their stages, of so many microbatches are told one by one.
std::int64_t most_microbatches(const DescribedPlan& plan, const StepFigures& figures) {
  const auto stages = static_cast<double>(plan.stages.size());
  const double parts = (6 * stages - 4) * static_cast<double>(figures.replicas.size());
  const double filling = 4 * stages;  // Enough to see the pace of a full pipeline.
  return static_cast<std::int64_t>(std::max(filling, kMostPartsTold / parts - stages));
}

DescribedStageOutcome stage_outcome(const DescribedPlan& plan, const Profiles& profiles,
                                    const StepFigures& figures, std::size_t stage) {
  DescribedStageOutcome outcome;
  outcome.memory = memory_of(plan, figures, stage);
  const auto count = static_cast<double>(plan.microbatches);
  for (const AlikeReplicas& alike : figures.replicas) {
    const StageTimes& times = alike.stages[stage];
    const double compute_s = count * (times.forward_s + times.backward_s);
    if (compute_s <= outcome.compute_s) continue;
    outcome.slowest_replica = alike.first;
    outcome.compute_s = compute_s;
    outcome.update_s = times.update_s;
    outcome.sum_s = times.buckets_s + figures.sum_s[stage];
    outcome.handover_s = 0;
    // With the stage before it and with the one behind it.
    for (const std::size_t link : {stage - 1, stage}) {
      if (link >= alike.activation_s.size()) continue;
      const double there = alike.activation_s[link], back = alike.gradient_s[link];
      outcome.handover_s +=
          count * (plan.framework.handovers == HandoverOrder::kInTurn ? there + back
                                                                      : std::max(there, back));
    }
  }
  outcome.device_bytes = std::numeric_limits<double>::infinity();
  for (const std::string& device : plan.stages[stage].devices)
    if (const double bytes = profiles.devices.at(device).memory_bytes;
        bytes < outcome.device_bytes) {
      outcome.device_bytes = bytes;
      outcome.smallest_device = device;
    }
  return outcome;
}

}  // namespace

bool DescribedOutcome::fits() const {
  return std::ranges::all_of(stages, &DescribedStageOutcome::fits);
}

double DescribedOutcome::peak_bytes() const {
  double most = 0;
  for (const DescribedStageOutcome& stage : stages)
    most = std::max(most, stage.memory.total_bytes());
  return most;
}

core::Result<DescribedOutcome> simulate_described(const DescribedPlan& plan,
                                                  const Profiles& profiles) {
  SOAPSTONE_ASSIGN_OR_RETURN(const StepFigures figures, step_figures(plan, profiles));
  DescribedPlan told = plan;
  told.microbatches = std::min(plan.microbatches, most_microbatches(plan, figures));
  DescribedOutcome outcome;
  outcome.plan = plan;
  outcome.told_microbatches = told.microbatches;
  SOAPSTONE_ASSIGN_OR_RETURN(outcome.step, told_step(told, profiles, figures));
  outcome.iteration_s = to_us(outcome.step.timeline.end) / kUsOfS;
  if (const std::int64_t rest = plan.microbatches - told.microbatches; rest > 0) {
    const auto stages = static_cast<std::int64_t>(plan.stages.size());
    told.microbatches -= stages;
    SOAPSTONE_ASSIGN_OR_RETURN(const SimulatedStep shorter, told_step(told, profiles, figures));
    const double pace_s =
        (outcome.iteration_s - to_us(shorter.timeline.end) / kUsOfS) / static_cast<double>(stages);
    outcome.iteration_s += pace_s * static_cast<double>(rest);
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    outcome.stages.push_back(stage_outcome(plan, profiles, figures, s));
    DescribedStageOutcome& stage = outcome.stages.back();
    const double busy_s = stage.compute_s + stage.handover_s + stage.sum_s + stage.update_s;
    // Times of tasks are rounded to ticks, so what is left of a busy stage is no waiting.
    const double rounding_s = 1e-6 * outcome.iteration_s;
    stage.waiting_s = outcome.iteration_s - busy_s;
    if (stage.waiting_s < rounding_s) stage.waiting_s = 0;
    if (stage.waiting_s < outcome.stages[outcome.last_stage].waiting_s) outcome.last_stage = s;
  }
  return outcome;
}

}  // namespace soapstone::parallel
