#include "parallel/planning/step_time.h"

#include <algorithm>
#include <utility>

#include "parallel/planning/pipeline.h"

namespace soapstone::parallel {
namespace {

/// Share of the backward pass that can hide sums of gradients.
constexpr double kOverlap = 0.9;

class StepTimer {
 public:
  StepTimer(const core::Graph& graph, const StepWork& work, const Topology& topology,
            bool is_training, std::vector<Slowness> slowness, MeshPlan& plan)
      : graph_(graph), work_(work), topology_(topology), is_training_(is_training),
        slowness_(std::move(slowness)), plan_(plan) {
    slowness_.resize(static_cast<std::size_t>(plan.shape.stages));
    for (const core::NodeId id : graph.order())
      if (!graph.is_constant_expression(id)) order_.push_back(id);
  }

  void run() {
    const MeshShape& shape = plan_.shape;
    std::vector<std::size_t> firsts;  // of each segment
    const std::vector<PipelineNode> segments = pipeline_segments(firsts);
    std::vector<double> slow;
    for (const Slowness& stage : slowness_) slow.push_back(stage.work);
    PipelineCut cut = cut_pipeline(segments, static_cast<std::size_t>(shape.stages),
                                   static_cast<std::size_t>(shape.chunks), slow);
    for (std::size_t& begin : cut.begins) begin = firsts[begin];
    plan_.stage_of_node.assign(graph_.node_bound(), -1);
    stages_.assign(static_cast<std::size_t>(shape.stages), {});
    plan_.estimates.assign(graph_.node_bound(), {});
    const std::vector<double> kept = kept_bytes(), crossing = crossing_bytes();
    for (std::size_t k = 0, piece = 0; k < order_.size(); ++k) {
      const std::size_t index = order_[k].index();
      if (piece + 1 < cut.begins.size() && k == cut.begins[piece + 1]) {
        plan_.estimates[order_[k - 1].index()].handover_bytes = crossing[k - 1];
        ++piece;
      }
      const std::size_t stage = piece % stages_.size();
      plan_.stage_of_node[index] = static_cast<std::int32_t>(stage);
      add(stages_[stage], plan_.sharding.costs[index], slowness_[stage]);
      stages_[stage].kept_bytes += kept[k];
      plan_.estimates[index] = estimate(plan_.sharding.costs[index], slowness_[stage]);
      plan_.estimates[index].kept_bytes = kept[k];
    }
    total(cut.slowest_us);
  }

 private:
  struct Stage {
    double compute_us = 0, exchange_us = 0, backward_us = 0, gradient_sum_us = 0, update_us = 0;
    double weight_bytes = 0, kept_bytes = 0;
  };

  double again() const { return plan_.shape.recomputes ? 1 : 0; }

  double compute_us(const NodeCost& cost) const {
    return cost.forward_us * (1 + again()) + cost.backward_us;
  }
  double exchange_us(const NodeCost& cost) const {
    return cost.forward_conversion_us * (1 + again()) + cost.backward_conversion_us +
           cost.gather_us;
  }

  /// Weights that are cut are gathered in each pass of a microbatch: forward, again, backward.
  NodeEstimate estimate(const NodeCost& cost, const Slowness& slowness) const {
    const double gather_us = cost.gather_us / (is_training_ ? 2 + again() : 1);
    NodeEstimate result;
    result.forward_us = slowness.work * cost.forward_us;
    result.forward_exchange_us = cost.forward_conversion_us + gather_us;
    result.again_us = again() * (result.forward_us + result.forward_exchange_us);
    result.backward_us = slowness.work * cost.backward_us;
    result.backward_exchange_us = cost.backward_conversion_us + (is_training_ ? gather_us : 0);
    result.gradient_sum_us = cost.gradient_sum_us;
    result.update_us = slowness.update * cost.update_us;
    result.weight_bytes = cost.weight_bytes + cost.state_bytes;
    return result;
  }

  void add(Stage& stage, const NodeCost& cost, const Slowness& slowness) const {
    stage.compute_us += slowness.work * compute_us(cost);
    stage.exchange_us += exchange_us(cost);
    stage.backward_us += slowness.work * cost.backward_us + cost.backward_conversion_us;
    stage.gradient_sum_us += cost.gradient_sum_us;
    stage.update_us += slowness.update * cost.update_us;
    stage.weight_bytes += cost.weight_bytes + cost.state_bytes;
  }

  /// Nodes between which a pipeline is not cut are one: it is cut where less crosses than at the
  /// nodes around.
  std::vector<PipelineNode> pipeline_segments(std::vector<std::size_t>& firsts) const {
    const auto pieces = static_cast<std::size_t>(plan_.shape.stages * plan_.shape.chunks);
    const std::vector<double> crossing = crossing_bytes();
    const double there_and_back = is_training_ ? 2 : 1;
    const Path handover =
        slowest_handover(crossing.empty() ? 0 : *std::ranges::max_element(crossing));
    std::vector<PipelineNode> segments;
    const auto collect = [&](bool everywhere) {
      segments.clear();
      firsts.clear();
      for (std::size_t k = 0; k < order_.size(); ++k) {
        const bool begins = k == 0 || everywhere || is_border(crossing, k - 1);
        if (begins) {
          segments.emplace_back();
          firsts.push_back(k);
        }
        const NodeCost& cost = plan_.sharding.costs[order_[k].index()];
        segments.back().us += compute_us(cost);
        segments.back().exchange_us += exchange_us(cost);
        if (pieces > 1) segments.back().handover_us = there_and_back * handover.us(crossing[k]);
      }
    };
    collect(false);
    if (segments.size() < pieces) collect(true);
    return segments;
  }

  /// Less crosses behind this node than behind the next, and no more than behind the one before.
  static bool is_border(const std::vector<double>& crossing, std::size_t k) {
    return k > 0 && k + 1 < crossing.size() && crossing[k] > 0 && crossing[k] <= crossing[k - 1] &&
           crossing[k] < crossing[k + 1];
  }

  /// Behind each node: bytes on one device of tensors that later nodes read.
  std::vector<double> crossing_bytes() const {
    std::vector<double> change(order_.size() + 1, 0);
    std::vector<std::size_t> position(graph_.node_bound(), 0);
    for (std::size_t k = 0; k < order_.size(); ++k) position[order_[k].index()] = k;
    for (std::size_t k = 0; k < order_.size(); ++k)
      for (const core::TensorId output : graph_.node(order_[k]).outputs) {
        std::size_t last = k;
        for (const core::NodeId reader : graph_.consumers(output))
          last = std::max(last, position[reader.index()]);
        const Layout& layout = plan_.sharding.tensors[output.index()];
        const double bytes = work_.tensors[output.index()].bytes *
                             largest_piece(layout, plan_.axis_sizes, plan_.uneven);
        change[k] += bytes;
        change[last] -= bytes;
      }
    double now = 0;
    for (double& bytes : change) bytes = now += bytes;
    return change;
  }

  /// What each node adds to the memory that is kept for gradients. Where the forward pass runs
  /// again, that is what crosses behind nodes where the least crosses: the segments between them
  /// run again, one at a time.
  std::vector<double> kept_bytes() const {
    std::vector<double> kept;
    for (const core::NodeId id : order_)
      kept.push_back(plan_.sharding.costs[id.index()].kept_bytes);
    if (!plan_.shape.recomputes) return kept;
    const std::vector<double> crossing = crossing_bytes();
    double largest_segment = 0, segment = 0;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      segment += kept[k];
      kept[k] = is_border(crossing, k) ? crossing[k] : 0;
      largest_segment = std::max(largest_segment, segment);
      if (is_border(crossing, k)) segment = 0;
    }
    if (!kept.empty()) kept[0] += largest_segment;
    return kept;
  }

  /// The slowest way from one stage to the next.
  Path slowest_handover(double bytes) const {
    const auto stages = static_cast<std::size_t>(plan_.shape.stages);
    const std::size_t distance = static_cast<std::size_t>(plan_.shape.device_count()) / stages;
    Path slowest = topology_.path(DeviceId(std::size_t{0}), DeviceId(std::size_t{0}));
    for (std::size_t s = 0; s + 1 < stages; ++s) {
      const Path path = topology_.path(DeviceId(s * distance), DeviceId((s + 1) * distance));
      if (path.us(bytes) > slowest.us(bytes)) slowest = path;
    }
    return slowest;
  }

  void total(double slowest_us) {
    const MeshShape& shape = plan_.shape;
    StepTime& time = plan_.time;
    const auto m = static_cast<double>(shape.microbatches);
    const double filling =
        static_cast<double>(shape.stages - 1) / static_cast<double>(shape.chunks);
    time = {};
    double sums = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const Stage& stage = stages_[s];
      time.compute_us = std::max(time.compute_us, stage.compute_us * m);
      time.exchange_us = std::max(time.exchange_us, stage.exchange_us * m);
      time.update_us = std::max(time.update_us, stage.update_us);
      // One backward pass of a microbatch hides sums of gradients that are ready before it ends.
      sums = std::max(sums, stage.gradient_sum_us - kOverlap * stage.backward_us);
      const double in_flight = microbatches_in_flight(shape, static_cast<std::int64_t>(s));
      time.peak_bytes =
          std::max(time.peak_bytes, stage.weight_bytes + stage.kept_bytes * in_flight);
    }
    time.gradient_sum_us = std::max(sums, 0.0);
    time.bubble_us = filling * slowest_us;
    time.handover_us = std::max(0.0, m * slowest_us - time.compute_us - time.exchange_us);
    time.total_us = (m + filling) * slowest_us + time.gradient_sum_us + time.update_us;
    for (const core::NodeId id : order_) {
      const NodeCost& cost = plan_.sharding.costs[id.index()];
      const double there_and_back = is_training_ ? 2 : 1;
      const double handover = there_and_back * plan_.estimates[id.index()].handover_bytes;
      const auto devices_of_stage = shape.device_count() / shape.stages;
      time.bytes_moved += ((cost.bytes_moved + handover) * m + cost.sum_bytes_moved) *
                          static_cast<double>(devices_of_stage);
    }
  }

  const core::Graph& graph_;
  const StepWork& work_;
  const Topology& topology_;
  bool is_training_;
  std::vector<Slowness> slowness_;  ///< By stage.
  MeshPlan& plan_;
  std::vector<core::NodeId> order_;
  std::vector<Stage> stages_;
};

}  // namespace

void time_step(const core::Graph& graph, const StepWork& work, const Topology& topology,
               bool is_training, std::vector<Slowness> slowness, MeshPlan& plan) {
  StepTimer(graph, work, topology, is_training, std::move(slowness), plan).run();
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
