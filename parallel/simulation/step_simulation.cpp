#include "parallel/simulation/step_simulation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "parallel/simulation/problem_builder.h"
#include "parallel/simulation/step_blocks.h"
#include "parallel/step/handovers.h"
#include "parallel/step/pipeline_schedule.h"

namespace soapstone::parallel {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// A lane for each stage.
struct Lanes {
  std::int64_t stages = 1, devices_of_stage = 1;

  DeviceId device(std::int64_t stage, std::int64_t d) const {
    return DeviceId(static_cast<std::size_t>(stage * devices_of_stage + d));
  }
  /// The first and the last of its devices.
  std::string name(const Topology& topology, std::int64_t stage) const {
    const std::string first = topology.device_name(device(stage, 0));
    if (devices_of_stage == 1) return first;
    return fmt::format("{} … {}, {} alike", first,
                       topology.device_name(device(stage, devices_of_stage - 1)), devices_of_stage);
  }
};

/// Between stages, the rate of a path is a lane's share while all of them hand over.
core::Result<Topology> topology_of(const Lanes& lanes, const Topology& topology, bool is_ring) {
  const std::vector<Path> between =
      handovers(topology, lanes.stages * lanes.devices_of_stage, lanes.stages, is_ring);
  // From stage b to a later one, or from the last one to the first.
  const auto handover = [&](std::int64_t b, std::int64_t a) -> const Path* {
    const std::int64_t from = b + 1 == a ? b : b == 0 && a + 1 == lanes.stages ? a : -1;
    const auto index = static_cast<std::size_t>(from);
    return from >= 0 && index < between.size() ? &between[index] : nullptr;
  };
  Network network{"lanes", {topology.kinds().begin(), topology.kinds().end()}, {}, {}, {}, {}};
  std::vector<DeviceId> devices;
  for (std::int64_t stage = 0; stage < lanes.stages; ++stage) {
    devices.push_back(lanes.device(stage, 0));
    network.devices.push_back(lanes.name(topology, stage));
    network.kind_of.push_back(topology.kind_index(devices.back()));
  }
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const Path* shared = handover(static_cast<std::int64_t>(b), static_cast<std::int64_t>(a));
      const Path path = shared ? *shared : topology.path(devices[b], devices[a]);
      network.wires.push_back({b, a, path.latency_us, path.bytes_per_s});
    }
  return Topology::make(std::move(network));
}

class StepMaker {
 public:
  StepMaker(const PlanDocument& plan, const StepPieces& pieces, std::size_t kinds,
            ProblemBuilder builder)
      : plan_(plan), pieces_(pieces), kinds_(kinds), builder_(std::move(builder)) {}

  core::Result<SimulatedStep> run() {
    const auto stages = static_cast<std::size_t>(plan_.shape.stages);
    previous_.assign(stages, kNone);
    for (auto* const ends : {&forward_end_, &backward_end_})
      ends->assign(pieces_.size() * static_cast<std::size_t>(plan_.shape.microbatches), kNone);
    kept_by_.resize(forward_end_.size());
    run_schedules(plan_.shape, plan_.is_training,
                  [this](std::size_t stage, const PieceRun& run) { return add_pass(stage, run); });
    if (plan_.is_training) add_updates();
    SOAPSTONE_ASSIGN_OR_RETURN(step_.problem, builder_.finish(kLongestTold));
    step_.plan_us = plan_.time.total_us;
    step_.placement.choice.assign(step_.problem.operators.size(), 0);
    SimulationModel model;
    model.synchronization = Synchronization::kOverlapped;
    step_.timeline = simulate(step_.problem, step_.placement, model);
    return std::move(step_);
  }

 private:
  std::size_t piece_of(std::size_t stage, const PieceRun& run) const {
    return static_cast<std::size_t>(run.chunk * plan_.shape.stages) + stage;
  }
  std::size_t pass_of(std::size_t piece, const PieceRun& run) const {
    return piece * static_cast<std::size_t>(plan_.shape.microbatches) +
           static_cast<std::size_t>(run.microbatch);
  }

  /// False if what it needs is not there yet.
  bool add_pass(std::size_t stage, const PieceRun& run) {
    const std::size_t piece = piece_of(stage, run);
    std::size_t source = kNone;
    double bytes = 0;
    if (!run.is_backward && piece > 0) {
      source = forward_end_[pass_of(piece - 1, run)];
      bytes = pieces_[piece - 1].back().sum.handover_bytes;
    }
    if (run.is_backward && piece + 1 < pieces_.size()) {
      source = backward_end_[pass_of(piece + 1, run)];
      bytes = pieces_[piece].back().sum.handover_bytes;
    }
    const bool is_first = run.is_backward ? piece + 1 == pieces_.size() : piece == 0;
    if (source == kNone && !is_first) return false;
    arrives_ = source;
    arriving_bytes_ = bytes;
    if (run.is_backward)
      add_backward(stage, piece, run);
    else
      add_forward(stage, piece, run);
    return true;
  }

  void add_forward(std::size_t stage, std::size_t piece, const PieceRun& run) {
    for (std::size_t b = 0; b < pieces_[piece].size(); ++b) {
      const StepBlock& block = pieces_[piece][b];
      if (block.sum.forward_exchange_us > 0)
        add(stage, StepPart::kExchange, block.name, run, block.sum.forward_exchange_us);
      const bool is_new = run.microbatch == 0;
      kept_by_[pass_of(piece, run)].push_back(
          add(stage, StepPart::kForward, block.name, run, block.sum.forward_us,
              {is_new ? block.sum.weight_bytes : 0, block.sum.kept_bytes}));
    }
    forward_end_[pass_of(piece, run)] = previous_[stage];
  }

  void add_backward(std::size_t stage, std::size_t piece, const PieceRun& run) {
    const std::vector<std::uint32_t>& kept_by = kept_by_[pass_of(piece, run)];
    const bool is_last = run.microbatch + 1 == plan_.shape.microbatches;
    for (std::size_t b = pieces_[piece].size(); b-- > 0;) {
      const StepBlock& block = pieces_[piece][b];
      if (block.sum.again_us > 0) add(stage, StepPart::kAgain, block.name, run, block.sum.again_us);
      const std::uint32_t backward =
          add(stage, StepPart::kBackward, block.name, run, block.sum.backward_us);
      connect(kept_by[b], backward, 0);
      if (is_last && !plan_.shape.sums_behind) add_behind(backward, block.sum.gradient_sum_us);
      if (block.sum.backward_exchange_us > 0)
        add(stage, StepPart::kExchange, block.name, run, block.sum.backward_exchange_us);
    }
    backward_end_[pass_of(piece, run)] = previous_[stage];
  }

  void add_behind(std::size_t behind, double us) {
    if (us > 0)
      builder_.add_group({static_cast<std::uint32_t>(behind)}, 1,
                         [us](double, std::size_t, std::size_t) { return us; });
  }

  /// A stage updates its weights once their gradients are summed: the group of no time's work that
  /// comes last waits for the groups before it.
  void add_updates() {
    for (std::size_t stage = 0; stage < previous_.size(); ++stage) {
      double us = 0, sums_us = 0;
      for (std::size_t piece = stage; piece < pieces_.size(); piece += previous_.size())
        for (const StepBlock& block : pieces_[piece]) {
          us += block.sum.update_us;
          sums_us += block.sum.gradient_sum_us;
        }
      if (plan_.shape.sums_behind) add_behind(previous_[stage], sums_us);
      if (us == 0) continue;
      const std::uint32_t update =
          add(stage, StepPart::kUpdate, fmt::format("update of stage {}", stage), {0, -1}, 0);
      add_behind(update, us);
    }
  }

  struct Memory {
    double resident_bytes, output_bytes;
  };
  std::uint32_t add(std::size_t stage, StepPart part, const std::string& name, const PieceRun& run,
                    double us, Memory memory = {0, 0}) {
    const std::uint32_t op = builder_.add_operator(
        name,
        {{1, std::vector<double>(kinds_, us), {}, memory.resident_bytes, memory.output_bytes}});
    step_.placement.device.push_back(static_cast<std::uint8_t>(stage));
    step_.parts.push_back(part);
    step_.microbatch_of.push_back(run.microbatch);
    step_.is_backward.push_back(run.is_backward);
    if (previous_[stage] != kNone) connect(previous_[stage], op, 0);
    if (arrives_ != kNone) connect(arrives_, op, arriving_bytes_);
    arrives_ = kNone;
    previous_[stage] = op;
    return op;
  }

  void connect(std::size_t from, std::uint32_t to, double bytes) {
    builder_.add_edge(static_cast<std::uint32_t>(from), to, [&](std::size_t, std::size_t) {
      return std::vector<OverlapSpec>{{0, 0, bytes}};
    });
  }

  const PlanDocument& plan_;
  const StepPieces& pieces_;
  std::size_t kinds_;
  ProblemBuilder builder_;
  SimulatedStep step_;
  std::size_t arrives_ = kNone;  ///< What the next operator waits for from another stage.
  double arriving_bytes_ = 0;
  std::vector<std::size_t> previous_;                    ///< Of each stage: its last operator.
  std::vector<std::size_t> forward_end_, backward_end_;  ///< By pass.
  std::vector<std::vector<std::uint32_t>> kept_by_;      ///< By pass and block.
};

/// Passes that are not told apart from what they exchange.
void count_exchanges_as_work(StepPieces& pieces) {
  for (std::vector<StepBlock>& piece : pieces)
    for (StepBlock& block : piece) {
      block.sum.forward_us += std::exchange(block.sum.forward_exchange_us, 0);
      block.sum.backward_us += std::exchange(block.sum.backward_exchange_us, 0);
    }
}

}  // namespace

std::string_view to_string(StepPart part) {
  switch (part) {
  case StepPart::kForward:
    return "forward";
  case StepPart::kAgain:
    return "forward again";
  case StepPart::kBackward:
    return "backward";
  case StepPart::kExchange:
    return "exchange";
  case StepPart::kUpdate:
    return "update";
  }
  return "part";
}

core::Result<SimulatedStep> simulate_step(const PlanDocument& plan, const Topology& topology,
                                          const StepSimulationOptions& options) {
  if (plan.devices > static_cast<std::int64_t>(topology.device_count()))
    return core::invalid_input(fmt::format("the plan is for {} devices, {} has {}", plan.devices,
                                           topology.name(), topology.device_count()));
  if (plan.shape.stages > static_cast<std::int64_t>(kMostDevicesTold))
    return core::unsupported(fmt::format("{} stages are too many to be told: there may be {}",
                                         plan.shape.stages, kMostDevicesTold));
  const std::int64_t of_stage = plan.devices / plan.shape.stages;
  const Lanes lanes{plan.shape.stages, of_stage};
  // A block computes, forward and backward, for each microbatch, and exchanges as often.
  const double passes = (!plan.is_training                 ? 1.0
                         : plan.shape.computes_all_again() ? 3.0
                                                           : 2.0) *
                        static_cast<double>(plan.shape.microbatches);
  const double most_blocks = static_cast<double>(options.most_parts) / (2 * passes);
  SOAPSTONE_ASSIGN_OR_RETURN(StepPieces pieces,
                             step_blocks(plan, static_cast<std::size_t>(most_blocks)));
  constexpr double kMostParts = 60000;
  const double passes_of_all = passes * static_cast<double>(block_count(pieces));
  if (passes_of_all > kMostParts)
    return core::unsupported(fmt::format("{} microbatches in {} pieces are too many to be told",
                                         plan.shape.microbatches, pieces.size()));
  if (2 * passes_of_all > kMostParts) count_exchanges_as_work(pieces);
  SOAPSTONE_ASSIGN_OR_RETURN(const Topology places,
                             topology_of(lanes, topology, plan.shape.chunks > 1));
  SOAPSTONE_ASSIGN_OR_RETURN(ProblemBuilder builder,
                             ProblemBuilder::make(places, places.device_count(), kMostDevicesTold));
  return StepMaker(plan, pieces, topology.kinds().size(), std::move(builder)).run();
}

}  // namespace soapstone::parallel
