// See described_tasks.h.
#include "parallel/described/described_tasks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "parallel/described/described_memory.h"
#include "parallel/simulation/problem_builder.h"

namespace soapstone::parallel {
namespace {

constexpr double kUsOfSecond = 1e6;
constexpr std::size_t kNoTask = std::numeric_limits<std::size_t>::max();

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

  /// Tensors that a stage and the next exchange before the passes of a slot: the gradient that the
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
    const AlikeReplicas& replicas = figures_.replicas[k];
    const std::size_t at = lane(k, stage);
    const DescribedMemory memory = described_memory(plan_, figures_.sizes[stage], stage);
    const double reserved = 1 + plan_.framework.fragmentation;
    if (const std::int64_t m = turn(slot, static_cast<std::int64_t>(stage)); m >= 0) {
      const double saved =
          memory.saved_bytes / static_cast<double>(microbatches_under_way(plan_, stage));
      const double fixed =
          memory.total_bytes() - reserved * (memory.saved_bytes + memory.working_bytes);
      forward_of_[at].push_back(add(StepPart::kForward, "forward", {at}, m, false,
                                    replicas.forward_s(stage),
                                    {m == 0 ? fixed : 0, reserved * saved}));
    }
    if (const std::int64_t m = turn(slot, backward_slot(stage)); m >= 0) {
      const std::size_t before = previous_[at];
      const std::uint32_t op =
          add(StepPart::kBackward, "backward", {at}, m, true, replicas.backward_s(stage),
              {0, reserved * memory.working_bytes});
      if (const std::uint32_t forward = forward_of_[at][static_cast<std::size_t>(m)];
          forward != before)
        connect(forward, op);  // The forward pass's results are held until then.
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
    const auto op =
        builder_.add_operator(name, {{static_cast<std::uint32_t>(lanes.size()),
                                      std::vector<double>(kinds_, seconds * kUsOfSecond),
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
  std::vector<std::size_t> previous_;                   ///< By lane: its last operator.
  std::vector<std::vector<std::uint32_t>> forward_of_;  ///< By lane and microbatch.
  std::vector<std::uint32_t> lanes_of_;                 ///< How many an operator has.
};

}  // namespace

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

}  // namespace soapstone::parallel
