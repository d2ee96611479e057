#include "parallel/step/step_time.h"

#include <algorithm>
#include <utility>

#include "parallel/step/pipeline.h"
#include "parallel/step/pipeline_run.h"
#include "parallel/step/stage_memory.h"
#include "parallel/step/weight_traffic.h"

namespace soapstone::parallel {
namespace {

class StepTimer {
 public:
  StepTimer(const core::Graph& graph, const StepWork& work, const ModelOrder& order,
            bool is_training, const StepMachine& machine, MeshPlan& plan)
      : graph_(graph), work_(work), model_(order), order_(order.nodes), is_training_(is_training),
        machine_(machine), slowness_(machine.slowness), plan_(plan),
        stages_(static_cast<std::size_t>(plan.shape.stages)) {
    slowness_.resize(stages_.size());
  }

  void run() {
    memory_ = ordered_memory(graph_, work_, is_training_, model_, plan_);
    exchanges_.resize(order_.size());
    for (const WeightExchange& exchange : plan_.sharding.exchanges)
      exchanges_[model_.positions[exchange.reader.index()]].push_back(&exchange);
    cut_into_pieces();
    time_pieces();
    hold_weights();
    total();
    count_bytes_moved();
  }

 private:
  struct Stage {
    double compute_us = 0, exchange_us = 0;  ///< A microbatch's.
    double update_us = 0, shared_sum_us = 0;
    StepMemory memory;
  };

  double again() const { return plan_.shape.computes_all_again() ? 1 : 0; }
  const NodeCost& cost(std::size_t k) const { return plan_.sharding.costs[order_[k].index()]; }
  NodeEstimate& estimate(std::size_t k) { return plan_.estimates[order_[k].index()]; }
  std::size_t end_of(std::size_t piece) const {
    return piece + 1 < begins_.size() ? begins_[piece + 1] : order_.size();
  }
  std::size_t stage_at(std::size_t position) const {
    const auto above = std::upper_bound(begins_.begin(), begins_.end(), position);
    return static_cast<std::size_t>(above - begins_.begin() - 1) % stages_.size();
  }

  double compute_us(const NodeCost& node) const {
    return node.forward_us * (1 + again()) + node.backward_us;
  }
  double exchange_us(const NodeCost& node) const {
    return node.forward_conversion_us * (1 + again()) + node.backward_conversion_us;
  }

  /// Nodes between which a pipeline is not cut are one: it is cut where less crosses than at the
  /// nodes around.
  void cut_into_pieces() {
    std::vector<PipelineNode> segments;
    std::vector<std::size_t> firsts;
    const auto pieces = static_cast<std::size_t>(plan_.shape.stages * plan_.shape.chunks);
    Path slowest{0, 1};
    if (pieces > 1) slowest = *std::ranges::min_element(machine_.handovers, {}, &Path::bytes_per_s);
    const auto collect = [&](bool everywhere) {
      segments.clear();
      firsts.clear();
      for (std::size_t k = 0; k < order_.size(); ++k) {
        if (k == 0 || everywhere || model_.is_narrow[k - 1]) {
          segments.emplace_back();
          firsts.push_back(k);
        }
        segments.back().us += compute_us(cost(k));
        segments.back().exchange_us += exchange_us(cost(k));
        if (pieces > 1)
          segments.back().handover_us = (is_training_ ? 2 : 1) * slowest.us(memory_.crossing[k]);
      }
    };
    collect(false);
    if (segments.size() < pieces) collect(true);
    std::vector<double> slow;
    for (const Slowness& stage : slowness_) slow.push_back(stage.work);
    begins_ =
        cut_pipeline(segments, stages_.size(), static_cast<std::size_t>(plan_.shape.chunks), slow)
            .begins;
    for (std::size_t& begin : begins_) begin = firsts[begin];
  }

  void time_pieces() {
    plan_.piece_of_node.assign(graph_.node_bound(), -1);
    plan_.estimates.assign(graph_.node_bound(), {});
    for (std::size_t piece = 0; piece < begins_.size(); ++piece) {
      const std::size_t begin = begins_[piece], end = end_of(piece);
      const std::size_t stage = piece % stages_.size();
      std::vector<PassNode> nodes;
      for (std::size_t k = begin; k < end; ++k) {
        plan_.piece_of_node[order_[k].index()] = static_cast<std::int32_t>(piece);
        nodes.push_back(pass_node(cost(k), again(), slowness_[stage].work));
      }
      traffic_.emplace_back(
          machine_.mesh, plan_.bucket_bytes, std::move(nodes),
          std::span(exchanges_).subspan(begin, end - begin),
          TrafficOptions{is_training_, plan_.shape.gathers_once, !plan_.shape.sums_behind});
      for (std::size_t k = begin; k < end; ++k)
        add_node(k, traffic_.back(), k - begin, stages_[stage]);
      double& buffers = stages_[stage].memory.buffer_bytes;
      const double own = traffic_.back().buffer_bytes();
      // Gathered weights that are kept are there while other pieces of the stage run.
      buffers = plan_.shape.gathers_once ? buffers + own : std::max(buffers, own);
      const bool is_last = piece + 1 == begins_.size();
      const double handover = is_last ? 0 : memory_.crossing[end - 1];
      estimate(end - 1).handover_bytes = handover;
      pieces_.push_back({traffic_.back().forward_us(), traffic_.back().backward_us(), handover});
    }
  }

  /// The waiting of a pass counts as exchange of the node before which it waits.
  void add_node(std::size_t k, const WeightTraffic& traffic, std::size_t at, Stage& stage) {
    NodeEstimate& node = estimate(k);
    node.kept_bytes = memory_.kept[k];
    node.forward_us = traffic.forward_work()[at];
    node.forward_exchange_us = cost(k).forward_conversion_us + traffic.forward_waits()[at];
    if (is_training_) {
      const double forward_us = again() * node.forward_us;
      node.again_us = forward_us + again() * cost(k).forward_conversion_us;
      node.backward_us = std::max(0.0, traffic.backward_work()[at] - forward_us);
      node.backward_exchange_us = cost(k).backward_conversion_us + traffic.backward_waits()[at];
      node.gradient_sum_us = traffic.sums()[at];
    }
    stage.compute_us += (1 + again()) * node.forward_us + node.backward_us;
    stage.exchange_us += node.forward_exchange_us + again() * cost(k).forward_conversion_us +
                         node.backward_exchange_us;
  }

  /// A weight lies on each stage that reads it. If they are several, its gradients are added on the
  /// way to the first one and back.
  void hold_weights() {
    for (const HeldWeight& weight : plan_.sharding.weights) {
      std::vector<std::size_t> first_reader(stages_.size(), order_.size());
      for (const core::NodeId reader : graph_.consumers(weight.tensor)) {
        if (graph_.is_constant_expression(reader)) continue;
        const std::size_t k = model_.positions[reader.index()];
        std::size_t& first = first_reader[stage_at(k)];
        first = std::min(first, k);
      }
      std::vector<std::size_t> holders;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        if (first_reader[s] == order_.size()) continue;
        holders.push_back(s);
        hold(weight, s, first_reader[s]);
      }
      if (!is_training_ || holders.size() < 2) continue;
      const double sum_us = sum_between(holders.front(), holders.back(), weight);
      for (const std::size_t s : holders) {
        stages_[s].shared_sum_us += sum_us;
        estimate(first_reader[s]).gradient_sum_us += sum_us;
      }
    }
  }

  void hold(const HeldWeight& weight, std::size_t s, std::size_t k) {
    Stage& stage = stages_[s];
    stage.memory.weight_bytes += weight.weight_bytes;
    stage.memory.gradient_bytes += weight.gradient_bytes;
    stage.memory.state_bytes += weight.state_bytes;
    stage.update_us += slowness_[s].update * weight.update_us;
    estimate(k).weight_bytes += weight.weight_bytes + weight.gradient_bytes + weight.state_bytes;
    estimate(k).update_us += slowness_[s].update * weight.update_us;
  }

  /// Each of two stages sends its gradient to the other, over all handovers in between.
  double sum_between(std::size_t first, std::size_t last, const HeldWeight& weight) const {
    Path path{0, machine_.handovers[first].bytes_per_s};
    for (std::size_t s = first; s < last; ++s) {
      path.latency_us += machine_.handovers[s].latency_us;
      path.bytes_per_s = std::min(path.bytes_per_s, machine_.handovers[s].bytes_per_s);
    }
    return path.us(weight.gradient_bytes);
  }

  void total() {
    const PipelineRun run = run_pipeline(plan_.shape, is_training_, pieces_, machine_.handovers);
    StepTime& time = plan_.time;
    time = {};
    const auto m = static_cast<double>(plan_.shape.microbatches);
    std::size_t last = 0;
    double last_sum_us = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const double passed_us = run.stage_end_us[s];
      const double summed_us = std::max(summed(s, run), passed_us) + stages_[s].shared_sum_us;
      const double end_us = summed_us + stages_[s].update_us;
      if (s > 0 && end_us <= time.total_us) continue;
      time.total_us = end_us;
      last = s;
      last_sum_us = summed_us - passed_us;
    }
    time.compute_us = m * stages_[last].compute_us;
    time.exchange_us = m * stages_[last].exchange_us;
    time.gradient_sum_us = last_sum_us;
    time.update_us = stages_[last].update_us;
    const double waited_us =
        std::max(0.0, run.stage_end_us[last] - time.compute_us - time.exchange_us);
    time.handover_us = std::min(waited_us, handover_us(run));
    time.bubble_us = waited_us - time.handover_us;
    fill_memory();
  }

  /// When the gradients of a stage are summed. Pieces end in the opposite order.
  double summed(std::size_t stage, const PipelineRun& run) const {
    double busy_us = 0;
    if (plan_.shape.sums_behind) {
      busy_us = run.stage_end_us[stage];
      for (std::size_t piece = stage; piece < pieces_.size(); piece += stages_.size())
        for (const double sum_us : traffic_[piece].sums()) busy_us += sum_us;
      return busy_us;
    }
    for (std::size_t piece = pieces_.size() - stages_.size() + stage;; piece -= stages_.size()) {
      busy_us = traffic_[piece].summed_us(run.last_backward_us[piece], busy_us);
      if (piece < stages_.size()) return busy_us;
    }
  }

  /// How much later the last pass ends than if nothing had to be handed over.
  double handover_us(const PipelineRun& run) const {
    if (stages_.size() == 1) return 0;
    std::vector<PieceTimes> pieces = pieces_;
    for (PieceTimes& piece : pieces) piece.handover_bytes = 0;
    std::vector<Path> at_once = machine_.handovers;
    for (Path& path : at_once) path.latency_us = 0;
    return std::max(0.0,
                    run.end_us - run_pipeline(plan_.shape, is_training_, pieces, at_once).end_us);
  }

  void fill_memory() {
    for (std::size_t piece = 0; piece < begins_.size(); ++piece) {
      StepMemory& memory = stages_[piece % stages_.size()].memory;
      double kept = 0;
      for (std::size_t k = begins_[piece]; k < end_of(piece); ++k) {
        kept += memory_.kept[k];
        memory.working_bytes += memory_.resident[k];
      }
      memory.kept_bytes += kept;
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      StepMemory& memory = stages_[s].memory;
      memory.kept_bytes *= microbatches_in_flight(plan_.shape, static_cast<std::int64_t>(s));
      double working = 0;
      for (std::size_t piece = s; piece < begins_.size(); piece += stages_.size())
        working =
            std::max(working, working_bytes(memory_, is_training_, begins_[piece], end_of(piece)));
      memory.working_bytes += working;
      if (s == 0 || memory.total_bytes() > plan_.time.memory.total_bytes())
        plan_.time.memory = memory;
    }
    plan_.time.peak_bytes = plan_.time.memory.total_bytes();
  }

  void count_bytes_moved() {
    const double there_and_back = is_training_ ? 2 : 1;
    const auto m = static_cast<double>(plan_.shape.microbatches);
    double sent = 0;
    for (std::size_t k = 0; k < order_.size(); ++k)
      sent += m * (cost(k).bytes_moved + there_and_back * estimate(k).handover_bytes) +
              cost(k).sum_bytes_moved;
    plan_.time.bytes_moved =
        sent * static_cast<double>(plan_.shape.device_count() / plan_.shape.stages);
  }

  const core::Graph& graph_;
  const StepWork& work_;
  const ModelOrder& model_;
  const std::vector<core::NodeId>& order_;  ///< The model's nodes.
  const bool is_training_;
  const StepMachine& machine_;
  std::vector<Slowness> slowness_;  ///< By stage.
  MeshPlan& plan_;
  std::vector<Stage> stages_;
  OrderedMemory memory_;
  std::vector<ExchangesOfNode> exchanges_;  ///< By position.
  std::vector<std::size_t> begins_;         ///< Where pieces begin, in the order of the model.
  std::vector<WeightTraffic> traffic_;      ///< By piece.
  std::vector<PieceTimes> pieces_;
};

}  // namespace

void time_step(const core::Graph& graph, const StepWork& work, const ModelOrder& order,
               bool is_training, const StepMachine& machine, MeshPlan& plan) {
  StepTimer(graph, work, order, is_training, machine, plan).run();
}

double microbatch_weight(const MeshShape& shape) {
  return static_cast<double>(shape.microbatches) +
         static_cast<double>(shape.stages - 1) / static_cast<double>(shape.chunks);
}

double microbatches_in_flight(const MeshShape& shape, std::int64_t stage) {
  const auto stages = static_cast<double>(shape.stages), chunks = static_cast<double>(shape.chunks);
  const auto behind = static_cast<double>(shape.stages - 1 - stage);
  const double begun =
      shape.chunks == 1 ? behind + 1 : (2 * behind + (chunks - 1) * stages + 1) / chunks;
  return std::min(begun, static_cast<double>(shape.microbatches));
}

}  // namespace soapstone::parallel
