// See repeated_layers.h.
#include "parallel/plans/repeated_layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "parallel/plans/layer_runs.h"

namespace soapstone::parallel {
namespace {

/// Copies that are left of layers that repeat.
constexpr std::size_t kCopies = 3;
/// Stages, and pieces of each, that are left of a pipeline if its pieces repeat.
constexpr std::int64_t kStages = 3;

/// What is left out of the copies of a layer, so that stages have equally many pieces.
struct Shortening {
  std::size_t copies = 0;
  std::int64_t stages = 1, chunks = 1;
};

/// The most copies that can go. `pieces`: of each copy.
std::optional<Shortening> shortening(const LayerRun& run, std::int64_t pieces, std::int64_t stages,
                                     std::int64_t chunks) {
  const std::size_t most = run.copies - kCopies;
  if (pieces == 0) return Shortening{most, stages, chunks};
  for (std::int64_t c = std::min(chunks, kStages); c <= chunks; ++c)
    for (std::int64_t s = std::min(stages, kStages); s <= stages; ++s) {
      const std::int64_t gone = stages * chunks - s * c;
      if (gone > 0 && gone % pieces == 0 && static_cast<std::size_t>(gone / pieces) <= most)
        return Shortening{static_cast<std::size_t>(gone / pieces), s, c};
    }
  return std::nullopt;
}

/// Leaves out one run of layers after the other.
class Shortener {
 public:
  Shortener(const PlannedGraph& model, const PlanDocument& plan)
      : model_(model), kinds_(model, plan), graph_(model.graph) {
    left_out_.stages = plan.shape.stages;
    left_out_.chunks = plan.shape.chunks;
    left_out_.pieces = pieces_of_nodes(model.graph, plan);
  }

  LeftOutLayers run() {
    while (leave_out_one()) continue;
    return std::move(left_out_);
  }

 private:
  /// False: no layers repeat any more.
  bool leave_out_one() {
    const LayerOrder order(graph_, kinds_, left_out_.pieces);
    for (const LayerRun& run : order.runs(kCopies + 1)) {
      // What comes before the first copy or behind the last one may look like a part of it.
      const LayerRun behind{run.first + run.length, run.length, run.copies - 1};
      const LayerRun before{run.first, run.length, run.copies - 1};
      const LayerRun within{behind.first, run.length, run.copies - 2};
      for (const LayerRun& each : {run, behind, before, within})
        if (each.copies > kCopies && leave_out_of(order, each)) return true;
    }
    return false;
  }

  bool leave_out_of(const LayerOrder& order, const LayerRun& run) {
    const std::int64_t pieces = order.piece(run.first + run.length) - order.piece(run.first);
    const auto found = shortening(run, pieces, left_out_.stages, left_out_.chunks);
    return found && order.is_repeated(run, model_.is_weight) &&
           leave_out(order, run, pieces, *found);
  }

  /// Copies 1 to `found.copies` go, and what reads the last of them reads the first copy.
  bool leave_out(const LayerOrder& order, const LayerRun& run, std::int64_t pieces,
                 const Shortening& found) {
    LeftOutLayers tried = left_out_;
    tried.stages = found.stages;
    tried.chunks = found.chunks;
    tried.nodes += found.copies * run.length;
    const std::size_t behind = run.first + (found.copies + 1) * run.length;
    for (std::size_t k = behind - run.length; k < behind; ++k) {
      const auto last = graph_.node(order.node(k)).outputs;
      const auto first = graph_.node(order.node(k - found.copies * run.length)).outputs;
      for (std::size_t o = 0; o < last.size(); ++o)
        if (order.is_read_from(last[o], behind)) tried.replaced.emplace_back(last[o], first[o]);
    }
    for (std::size_t k = run.first + run.length; k < behind; ++k)
      for (const core::TensorId output : graph_.node(order.node(k)).outputs)
        if (graph_.is_output(output)) tried.results.push_back(output);
    for (std::size_t k = behind; k < order.size(); ++k)
      tried.pieces[order.node(k).index()] -=
          static_cast<std::int32_t>(pieces * static_cast<std::int64_t>(found.copies));
    auto shorter = without_layers(model_.graph, tried);
    if (!shorter || shorter->order().size() >= graph_.order().size()) return false;
    graph_ = *std::move(shorter);
    left_out_ = std::move(tried);
    return true;
  }

  const PlannedGraph& model_;
  const NodeLikeness kinds_;
  core::Graph graph_;  ///< Without what is left out so far.
  LeftOutLayers left_out_;
};

}  // namespace

LeftOutLayers repeated_layers(const PlannedGraph& model, const PlanDocument& plan) {
  return Shortener(model, plan).run();
}

core::Result<core::Graph> without_layers(const core::Graph& graph, const LeftOutLayers& left_out) {
  core::GraphBuilder builder(graph);
  std::vector<core::TensorId> outputs(graph.outputs().begin(), graph.outputs().end());
  std::erase_if(outputs, [&](core::TensorId output) {
    return std::ranges::find(left_out.results, output) != left_out.results.end();
  });
  builder.set_outputs(std::move(outputs));
  for (const auto& [from, to] : left_out.replaced) builder.replace_uses(from, to);
  return std::move(builder).finish();
}

std::vector<bool> weights_read(const core::Graph& graph, const std::vector<bool>& is_weight) {
  std::vector<bool> read(graph.tensor_bound(), false);
  for (std::size_t t = 0; t < is_weight.size(); ++t)
    if (const core::TensorId id(t); is_weight[t] && graph.contains(id))
      read[t] = !graph.consumers(id).empty() || graph.is_output(id);
  return read;
}

core::Result<PlanDocument> without_layers(const PlanDocument& plan, const core::Graph& graph,
                                          const core::Graph& shorter,
                                          const std::vector<bool>& is_weight,
                                          const LeftOutLayers& left_out) {
  std::vector<const PlannedNode*> planned(graph.node_bound(), nullptr);
  std::size_t at = 0;
  for (const core::NodeId id : graph.order())
    if (!graph.is_constant_expression(id)) planned[id.index()] = &plan.nodes[at++];
  PlanDocument result = plan;
  result.shape.stages = left_out.stages;
  result.shape.chunks = left_out.chunks;
  result.devices = result.shape.device_count();
  result.nodes.clear();
  for (const core::NodeId id : shorter.order()) {
    if (shorter.is_constant_expression(id)) continue;
    result.nodes.push_back(*planned[id.index()]);
    result.nodes.back().stage = left_out.pieces[id.index()] % left_out.stages;
  }
  const std::vector<bool> is_read = weights_read(shorter, is_weight);
  std::map<std::string, bool> names;
  for (std::size_t t = 0; t < is_read.size(); ++t)
    if (is_read[t]) names.emplace(weight_name(shorter, core::TensorId(t)), true);
  std::erase_if(result.weights,
                [&](const PlannedWeight& weight) { return !names.contains(weight.name); });
  SOAPSTONE_RETURN_IF_ERROR(check_stages(result));
  return result;
}

}  // namespace soapstone::parallel
