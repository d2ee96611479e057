// See plan_annotations.h. Shards follow from the loops that a node's axes cut, not from its
// operator.
#include "jobs/plan/plan_annotations.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "jobs/plan/tensor_shards.h"
#include "models/onnx/writing/contrib.h"

namespace soapstone::jobs {
namespace {

using parallel::Layout;

bool is_partial(const Layout& layout) {
  return std::ranges::find(layout.axes, parallel::kPartial) != layout.axes.end();
}

/// Whether a device lacks some of what it reads: what is held whole may be read in parts.
bool is_gathered(const Layout& held, const Layout& read) {
  for (std::size_t k = 0; k < held.axes.size(); ++k)
    if (held.axes[k] >= 0 && held.axes[k] != read.axes[k]) return true;
  return false;
}

bool is_uneven(const models::TensorShards& shards) {
  for (const models::ShardedDim& dim : shards.dims)
    for (const models::ShardedDim::Level& level : dim.levels)
      if (level.size % level.shards != 0) return true;
  return false;
}

class Annotator {
 public:
  explicit Annotator(const PlanOutcome& outcome)
      : outcome_(outcome), graph_(outcome.graph), plan_(outcome.details),
        loops_(parallel::graph_loops(outcome.graph, outcome.is_weight)) {}

  Annotated run() {
    models::DeviceAnnotations& annotations = result_.annotations;
    const std::string& topology = outcome_.plan.topology;
    annotations.configuration = topology.empty() ? "plan" : topology;
    annotations.devices = outcome_.device_names;
    annotations.nodes.resize(graph_.node_bound());
    for (const core::NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id)) annotations.nodes[id.index()] = node_devices(id);
    count_gathered_weights();
    count_schedule();
    return std::move(result_);
  }

 private:
  void count(const char* what, std::size_t times = 1) {
    if (times > 0) result_.report.unsaid[what] += times;
  }

  models::NodeDevices node_devices(core::NodeId id) {
    const core::Node& node = graph_.node(id);
    const parallel::NodeChoice& choice = plan_.sharding.nodes[id.index()];
    std::vector<std::vector<TensorCut>> inputs(node.inputs.size()), outputs(node.outputs.size());
    for (std::size_t axis = plan_.axis_sizes.size(); axis-- > 0;) {
      if (choice.loops[axis] < 0 || plan_.axis_sizes[axis] == 1) continue;
      const ops::Loop& loop =
          loops_.spaces[id.index()].loops[static_cast<std::size_t>(choice.loops[axis])];
      for (const ops::LoopPlace& place : loop.follows) add(axis, place, inputs);
      for (const ops::LoopPlace& place : loop.outputs)
        if (loop.joined[place.tensor] == ops::Joined::kIndex) add(axis, place, outputs);
      count("inputs_that_one_part_adds", loop.once.size());
      if (plan_.uneven && plan_.uneven->axis == axis) count("parts_by_rate");
    }
    models::NodeDevices devices;
    devices.stage = parallel::stage_of(plan_, id);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      devices.inputs.push_back(shards(node.inputs[k], choice.inputs[k], inputs[k], devices.stage));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      devices.outputs.push_back(
          shards(node.outputs[k], choice.outputs[k], outputs[k], devices.stage));
    ++result_.report.nodes;
    return devices;
  }

  /// Parts that read their neighbors' elements, too, are said to hold their own alone.
  void add(std::size_t axis, const ops::LoopPlace& place,
           std::vector<std::vector<TensorCut>>& cuts) {
    std::vector<TensorCut>& of_tensor = cuts[place.tensor];
    const bool is_there =
        std::ranges::any_of(of_tensor, [&](const TensorCut& cut) { return cut.axis == axis; });
    if (is_there) return count("tensors_cut_along_a_diagonal");
    if (place.window.high - place.window.low > place.stride) count("halos");
    of_tensor.push_back({axis, place});
  }

  models::TensorShardsPtr shards(core::TensorId id, const Layout& layout,
                                 const std::vector<TensorCut>& cuts, std::int32_t stage) {
    if (!id.valid()) return nullptr;
    if (is_partial(layout)) {
      count("partial_sums");
      return nullptr;
    }
    const auto dims = core::concrete(graph_.tensor(id).type.shape);
    if (!graph_.tensor(id).type.shape_known || !dims) {
      count("tensors_of_unknown_shape");
      return nullptr;
    }
    Key key{*dims, {}, stage};
    for (const TensorCut& cut : cuts)
      std::get<1>(key).push_back({static_cast<std::int64_t>(cut.axis),
                                  static_cast<std::int64_t>(cut.place.dim), cut.place.stride,
                                  cut.place.period});
    const auto [known, is_new] = known_.try_emplace(std::move(key));
    if (is_new) {
      const std::int64_t of_stage = outcome_.plan.devices / plan_.shape.stages;
      if (auto found = shards_of(*dims, cuts, {stage * of_stage, plan_.axis_sizes}))
        known->second = std::make_shared<const models::TensorShards>(*std::move(found));
    }
    if (known->second == nullptr)
      count("tensors_whose_cuts_do_not_nest");
    else
      ++result_.report.tensors;
    if (known->second != nullptr && is_uneven(*known->second)) count("uneven_shards");
    return known->second;
  }

  /// A weight is said to lie as each node reads it: there is no word for how it is kept.
  void count_gathered_weights() {
    for (std::size_t t = 0; t < outcome_.is_weight.size(); ++t) {
      if (!outcome_.is_weight[t]) continue;
      const core::TensorId id(t);
      for (const core::NodeId reader : graph_.consumers(id)) {
        const auto& inputs = graph_.node(reader).inputs;
        const auto k = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
        const parallel::NodeChoice& choice = plan_.sharding.nodes[reader.index()];
        if (k < choice.inputs.size() && is_gathered(plan_.sharding.tensors[t], choice.inputs[k])) {
          count("weights_that_are_gathered");
          break;
        }
      }
    }
  }

  void count_schedule() {
    const parallel::MeshShape& shape = plan_.shape;
    if (shape.microbatches > 1) count("microbatches", static_cast<std::size_t>(shape.microbatches));
    if (shape.chunks > 1) count("pieces_of_each_stage", static_cast<std::size_t>(shape.chunks));
    if (shape.recompute != parallel::Recompute::kNothing) count("recomputation");
    if (outcome_.plan.is_training) count("backward_pass");
  }

  using Key = std::tuple<core::Dims, std::vector<std::array<std::int64_t, 4>>, std::int32_t>;

  const PlanOutcome& outcome_;
  const core::Graph& graph_;
  const parallel::MeshPlan& plan_;
  const parallel::GraphLoops loops_;
  std::map<Key, models::TensorShardsPtr> known_;  ///< Equal blocks lie alike.
  Annotated result_;
};

}  // namespace

Annotated annotations_of(const PlanOutcome& outcome) { return Annotator(outcome).run(); }

core::Result<AnnotationReport> write_annotated(const PlanOutcome& outcome,
                                               const std::string& path) {
  Annotated annotated = annotations_of(outcome);
  models::WriteOptions options;
  options.devices = &annotated.annotations;
  // Operators of ONNX Runtime's own domain are there only if the model had them.
  SOAPSTONE_RETURN_IF_ERROR(
      models::write_onnx(outcome.graph, *models::with_contrib(*outcome.header), path, options));
  return std::move(annotated.report);
}

}  // namespace soapstone::jobs
