#include "parallel/step/stage_memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soapstone::parallel {
namespace {

/// Sums over intervals of positions.
class Intervals {
 public:
  explicit Intervals(std::size_t size) : change_(size + 1, 0) {}
  /// From `first` to the one before `end`.
  void add(std::size_t first, std::size_t end, double bytes) {
    change_[first] += bytes;
    change_[end] -= bytes;
  }
  std::vector<double> totals() const {
    std::vector<double> sums(change_.size());
    std::partial_sum(change_.begin(), change_.end(), sums.begin());
    sums.pop_back();
    for (double& sum : sums)
      sum = std::max(sum, 0.0);  // Sums in another order may differ a little.
    return sums;
  }

 private:
  std::vector<double> change_;
};

class MemoryFinder {
 public:
  MemoryFinder(const core::Graph& graph, const StepWork& work, bool is_training,
               const ModelOrder& order, const MeshPlan& plan)
      : graph_(graph), work_(work), is_training_(is_training), order_(order), plan_(plan),
        crossing_(order.nodes.size()), forward_(order.nodes.size()), backward_(order.nodes.size()),
        again_(order.nodes.size()) {}

  OrderedMemory run() {
    memory_.kept.assign(order_.nodes.size(), 0);
    memory_.resident.assign(order_.nodes.size(), 0);
    for (const Lifetime& life : order_.lifetimes) add(life);
    memory_.crossing = crossing_.totals();
    memory_.forward = forward_.totals();
    memory_.backward = backward_.totals();
    for (std::size_t k = 0; k < order_.nodes.size(); ++k) add_node(k);
    if (plan_.shape.recompute >= Recompute::kCheap) compute_again();
    return std::move(memory_);
  }

 private:
  double bytes(core::TensorId tensor, const Layout& layout) const {
    return work_.tensors[tensor.index()].bytes *
           largest_piece(layout, plan_.axis_sizes, plan_.uneven);
  }

  /// Inputs arrive as the first reader wants them.
  double bytes_of(const Lifetime& life) const {
    if (!life.is_input) return bytes(life.tensor, plan_.sharding.tensors[life.tensor.index()]);
    const core::NodeId reader = order_.nodes[life.first];
    const std::vector<core::TensorId>& inputs = graph_.node(reader).inputs;
    const auto at = std::ranges::find(inputs, life.tensor) - inputs.begin();
    return bytes(life.tensor,
                 plan_.sharding.nodes[reader.index()].inputs[static_cast<std::size_t>(at)]);
  }

  void add(const Lifetime& life) {
    const TensorWork& tensor = work_.tensors[life.tensor.index()];
    const double here = bytes_of(life);
    const bool is_resident = !is_training_ && (life.is_input || life.is_result);
    if (!life.is_input) crossing_.add(life.first, life.last, here);
    const double held = here / tensor.turns;
    if (is_resident) {
      memory_.resident[life.is_input ? life.first : life.last] +=
          held * static_cast<double>(plan_.shape.microbatches);
      return;
    }
    if (life.is_input) {
      memory_.kept[life.first] += held;
      return;
    }
    if (!tensor.is_stored) return;
    if (!tensor.is_kept || plan_.shape.computes_all_again())
      forward_.add(life.first, life.last + 1, held);
    if (tensor.has_gradient) backward_.add(life.first, life.last + 1, held);
    if (!tensor.is_computed_again) return;
    if (plan_.shape.recompute >= Recompute::kCheap)
      again_[life.first] += held;
    else
      backward_.add(life.first, life.last + 1, held);  // Attention is a block of its own.
  }

  /// Adds what the node keeps, and copies in the layouts that it wants.
  void add_node(std::size_t k) {
    const core::NodeId id = order_.nodes[k];
    memory_.kept[k] += plan_.sharding.costs[id.index()].kept_bytes;
    const core::Node& node = graph_.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const core::TensorId input = node.inputs[i];
      if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
      if (graph_.is_constant_expression(input)) continue;
      const double turns = work_.tensors[input.index()].turns;
      const double made = bytes(input, plan_.sharding.tensors[input.index()]) / turns;
      const double read = bytes(input, plan_.sharding.nodes[id.index()].inputs[i]) / turns;
      if (read <= made) continue;
      memory_.forward[k] += read;
      if (work_.tensors[input.index()].has_gradient) memory_.backward[k] += read;
    }
  }

  /// A block has what it computes again while its backward pass runs. If that is all, each
  /// block keeps what it reads.
  void compute_again() {
    const bool is_all = plan_.shape.computes_all_again();
    for (std::size_t begin = 0, k = 0; k < order_.nodes.size(); ++k) {
      if (!order_.ends_block[k] && k + 1 < order_.nodes.size()) continue;
      double block = 0;
      for (std::size_t i = begin; i <= k; ++i)
        block += again_[i] + (is_all ? std::exchange(memory_.kept[i], 0) : 0);
      for (std::size_t i = begin; i <= k; ++i) memory_.backward[i] += block;
      if (is_all && begin > 0) memory_.kept[begin] = memory_.crossing[begin - 1];
      begin = k + 1;
    }
  }

  const core::Graph& graph_;
  const StepWork& work_;
  const bool is_training_;
  const ModelOrder& order_;
  const MeshPlan& plan_;
  Intervals crossing_, forward_, backward_;
  std::vector<double> again_;  ///< Bytes that each node makes again for its block.
  OrderedMemory memory_;
};

}  // namespace

OrderedMemory ordered_memory(const core::Graph& graph, const StepWork& work, bool is_training,
                             const ModelOrder& order, const MeshPlan& plan) {
  return MemoryFinder(graph, work, is_training, order, plan).run();
}

double working_bytes(const OrderedMemory& memory, bool is_training, std::size_t begin,
                     std::size_t end) {
  double kept_behind = 0, most = 0;
  for (std::size_t k = end; k-- > begin;) {
    const double now =
        is_training ? std::max(memory.forward[k], memory.backward[k]) : memory.forward[k];
    most = std::max(most, now - kept_behind);
    kept_behind += memory.kept[k];
  }
  return most;
}

}  // namespace soapstone::parallel
