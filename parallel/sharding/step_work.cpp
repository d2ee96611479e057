#include "parallel/sharding/step_work.h"

#include <algorithm>

#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::parallel {
namespace {

double bytes_of(core::TensorType type, std::optional<core::DataType> precision) {
  if (precision && core::is_floating(type.data_type)) type.data_type = *precision;
  const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
  if (!dims) return 0;
  return static_cast<double>(core::element_count(*dims)) *
         static_cast<double>(core::size_bytes(type.data_type));
}

/// Which tensors depend on weights, and which a gradient reads.
void mark_gradients(const core::Graph& graph, StepWork& work) {
  for (TensorWork& tensor : work.tensors) tensor.has_gradient = tensor.is_weight;
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    bool has_gradient = false;
    for (const core::TensorId input : node.inputs)
      has_gradient |= input.valid() && work.tensors[input.index()].has_gradient;
    if (!has_gradient) continue;
    for (const core::TensorId output : node.outputs)
      work.tensors[output.index()].has_gradient =
          core::is_floating(graph.tensor(output).type.data_type);
    const ops::OpDefinition* definition = ops::definition_of(node);
    const bool only_moves = definition && (definition->op_class == ops::OpClass::kView ||
                                           definition->op_class == ops::OpClass::kMovement);
    if (only_moves) continue;
    for (const core::TensorId input : node.inputs)
      if (input.valid() && !work.tensors[input.index()].is_weight)
        work.tensors[input.index()].is_kept = true;
  }
}

}  // namespace

StepWork step_work(const core::Graph& graph, const std::vector<bool>& is_weight,
                   bool is_training, std::optional<core::DataType> precision) {
  StepWork work;
  work.nodes.resize(graph.node_bound());
  work.tensors.resize(graph.tensor_bound());
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t) {
    if (!graph.contains(core::TensorId(t))) continue;
    work.tensors[t].bytes = bytes_of(graph.tensor(core::TensorId(t)).type, precision);
    work.tensors[t].is_weight = is_weight[t];
  }
  for (const core::NodeId id : graph.order()) {
    NodeWork& node = work.nodes[id.index()];
    const ops::OpDefinition* definition = ops::definition_of(graph.node(id));
    node.is_free = runtime::is_free(graph, id);
    node.is_contraction = definition && definition->op_class == ops::OpClass::kContraction;
    node.flops = ops::work_of(graph, id).flops;
    node.data_type = graph.tensor(graph.node(id).outputs[0]).type.data_type;
    if (precision && core::is_floating(node.data_type)) node.data_type = *precision;
  }
  const auto plan =
      runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull));
  for (const runtime::Launch& launch : plan.launches) {
    work.nodes[launch.head.index()].starts_launch = true;
    const std::vector<core::NodeId> nodes = launch.nodes();
    for (std::size_t k = 0; k + 1 < nodes.size(); ++k)
      for (const core::TensorId output : graph.node(nodes[k]).outputs)
        work.tensors[output.index()].is_stored = false;
  }
  if (is_training) mark_gradients(graph, work);
  for (TensorWork& tensor : work.tensors) tensor.is_stored |= tensor.is_kept;
  return work;
}

StepWork per_microbatch(const core::Graph& graph, const GraphLoops& loops, StepWork work,
                        std::int64_t microbatches) {
  const auto parts = static_cast<double>(microbatches);
  for (const core::TensorId id : graph.inputs())
    if (!work.tensors[id.index()].is_weight) work.tensors[id.index()].bytes /= parts;
  for (const core::NodeId id : graph.order()) {
    const std::vector<Origin>& origins = loops.origins[id.index()];
    const auto batch = std::find(origins.begin(), origins.end(), Origin::kBatch);
    if (batch == origins.end()) continue;
    work.nodes[id.index()].flops /= parts;
    const auto l = static_cast<std::size_t>(batch - origins.begin());
    const ops::Loop& loop = loops.spaces[id.index()].loops[l];
    for (const ops::LoopPlace& place : loop.outputs)
      work.tensors[graph.node(id).outputs[place.tensor].index()].bytes /= parts;
  }
  return work;
}

}  // namespace soapstone::parallel
