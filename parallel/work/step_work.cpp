#include "parallel/work/step_work.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/hash.h"
#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"
#include "ops/gradients/adjoint.h"
#include "ops/gradients/by_result.h"
#include "ops/gradients/pruning.h"
#include "parallel/work/saved_results.h"
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

/// Bytes of the constants that a constant expression is computed from, each once, as they are
/// stored: of a quantized weight, those of its integers.
double constant_bytes(const core::Graph& graph, core::TensorId id,
                      const std::vector<TensorWork>& tensors) {
  std::vector<core::TensorId> open{id};
  std::set<core::TensorId> met{id};
  double bytes = 0;
  while (!open.empty()) {
    const core::TensorId now = open.back();
    open.pop_back();
    const core::NodeId producer = graph.tensor(now).producer;
    if (!producer.valid()) bytes += tensors[now.index()].bytes;
    if (!producer.valid()) continue;
    for (const core::TensorId input : graph.node(producer).inputs)
      if (input.valid() && met.insert(input).second) open.push_back(input);
  }
  return bytes;
}

/// Kernels of contractions read an operand in either order, so a transpose for them alone is none.
bool is_read_transposed(const core::Graph& graph, core::NodeId id, const StepWork& work) {
  const core::Node& node = graph.node(id);
  if (node.op->name != "transpose" || graph.is_output(node.outputs[0])) return false;
  return std::ranges::all_of(graph.consumers(node.outputs[0]), [&](core::NodeId reader) {
    return work.nodes[reader.index()].is_contraction;
  });
}

/// A view needs no memory of its own: what is kept of it is what it is a view of.
void share_kept_views(const core::Graph& graph, StepWork& work) {
  const auto order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ops::OpDefinition* definition = ops::definition_of(graph.node(*id));
    const bool is_view = definition && definition->op_class == ops::OpClass::kView;
    if (!is_view && !is_read_transposed(graph, *id, work)) continue;
    TensorWork& view = work.tensors[graph.node(*id).outputs[0].index()];
    const core::TensorId viewed = graph.node(*id).inputs[0];
    if (!view.is_kept) continue;
    view.is_kept = false;
    if (!graph.tensor(viewed).producer.valid()) continue;
    work.tensors[viewed.index()].is_kept = true;
    std::vector<bool>& rereads = work.nodes[id->index()].rereads;
    rereads.resize(graph.node(*id).inputs.size(), false);
    rereads[0] = true;
  }
}

/// Which inputs the gradients of nodes read: what their adjoints read. Equal nodes are asked once.
class GradientReads {
 public:
  explicit GradientReads(const core::Graph& graph) : graph_(graph) {}

  /// By input; `has_gradient`: by input, whether its gradient is wanted.
  const std::vector<bool>& of(core::NodeId id, const std::vector<bool>& has_gradient) {
    const auto [at, is_new] = known_.try_emplace(key(id, has_gradient));
    if (is_new) at->second = derived(id, has_gradient);
    return at->second;
  }

 private:
  std::uint64_t key(core::NodeId id, const std::vector<bool>& has_gradient) const {
    const core::Node& node = graph_.node(id);
    std::uint64_t hash = node.local_hash;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      hash = core::hash_combine(hash, has_gradient[k] ? 2 : 1);
      if (!node.inputs[k].valid()) continue;
      for (const core::Size& size : graph_.tensor(node.inputs[k]).type.shape)
        hash = core::hash_combine(hash, static_cast<std::uint64_t>(size.as_constant().value_or(0)));
    }
    return hash;
  }

  std::vector<bool> derived(core::NodeId id, const std::vector<bool>& has_gradient) const {
    const core::Node& node = graph_.node(id);
    std::vector<bool> reads(node.inputs.size(), false);
    if (ops::is_opaque(node)) return std::vector<bool>(node.inputs.size(), true);
    const ops::Semantics forward = ops::semantics_of(graph_, id);
    std::vector<core::Shape> shapes;
    for (const core::TensorId input : node.inputs)
      shapes.push_back(input.valid() ? graph_.tensor(input).type.shape : core::Shape{});
    const std::vector<bool> cotangents(node.outputs.size(), true);
    for (std::uint32_t k = 0; k < node.inputs.size(); ++k) {
      if (!has_gradient[k]) continue;
      for (const std::uint32_t read :
           ops::inputs_read(ops::adjoint({forward, shapes, k, cotangents})))
        if (read < reads.size()) reads[read] = true;
    }
    return reads;
  }

  const core::Graph& graph_;
  std::unordered_map<std::uint64_t, std::vector<bool>> known_;
};

/// Which tensors depend on weights, and which a gradient reads.
void mark_gradients(const core::Graph& graph, StepWork& work) {
  GradientReads reads(graph);
  for (std::size_t t = 0; t < work.tensors.size(); ++t)
    work.tensors[t].has_gradient =
        work.tensors[t].is_weight &&
        core::is_floating(graph.tensor(core::TensorId(t)).type.data_type);
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    std::vector<bool> wanted;
    for (const core::TensorId input : node.inputs)
      wanted.push_back(input.valid() && work.tensors[input.index()].has_gradient);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) continue;
    for (const core::TensorId output : node.outputs)
      work.tensors[output.index()].has_gradient =
          core::is_floating(graph.tensor(output).type.data_type);
    if (ops::gradient_reads_result(node)) {
      work.tensors[node.outputs[0].index()].is_kept = true;
      work.nodes[id.index()].gradient_reads_result = true;
      continue;
    }
    const std::vector<bool>& read = reads.of(id, wanted);
    work.nodes[id.index()].gradient_reads = read;
    std::vector<bool>& rereads = work.nodes[id.index()].rereads;
    rereads.resize(node.inputs.size(), false);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (read[k] && node.inputs[k].valid() && !graph.is_constant_expression(node.inputs[k]) &&
          !work.tensors[node.inputs[k].index()].is_weight)
        rereads[k] = work.tensors[node.inputs[k].index()].is_kept = true;
  }
  share_kept_views(graph, work);
}

/// One kernel makes what lies between the contractions, in tiles.
void fuse(const core::Graph& graph, const std::vector<core::TensorId>& between, StepWork& work) {
  for (const core::TensorId id : between) {
    work.tensors[id.index()].is_stored = false;
    NodeWork& producer = work.nodes[graph.tensor(id).producer.index()];
    producer.is_free = producer.is_free || !producer.is_contraction;
  }
}

}  // namespace

StepWork step_work(const core::Graph& graph, const std::vector<bool>& is_weight,
                   const StepOptions& options) {
  StepWork work;
  work.nodes.resize(graph.node_bound());
  work.tensors.resize(graph.tensor_bound());
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t) {
    if (!graph.contains(core::TensorId(t))) continue;
    work.tensors[t].bytes = bytes_of(graph.tensor(core::TensorId(t)).type, options.precision);
    work.tensors[t].is_weight = is_weight[t];
  }
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t)
    if (is_weight[t] && graph.tensor(core::TensorId(t)).producer.valid())
      work.tensors[t].bytes =
          std::min(work.tensors[t].bytes, constant_bytes(graph, core::TensorId(t), work.tensors));
  for (const core::NodeId id : graph.order()) {
    NodeWork& node = work.nodes[id.index()];
    const ops::OpDefinition* definition = ops::definition_of(graph.node(id));
    node.is_free = runtime::is_free(graph, id);
    node.is_contraction = definition && definition->op_class == ops::OpClass::kContraction;
    node.flops = ops::work_of(graph, id).flops;
    node.data_type = graph.tensor(graph.node(id).outputs[0]).type.data_type;
    if (options.precision && core::is_floating(node.data_type)) node.data_type = *options.precision;
  }
  const auto plan = runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull));
  for (const runtime::Launch& launch : plan.launches) {
    work.nodes[launch.head.index()].starts_launch = true;
    const std::vector<core::NodeId> nodes = launch.nodes();
    for (std::size_t k = 0; k + 1 < nodes.size(); ++k)
      for (const core::TensorId output : graph.node(nodes[k]).outputs)
        work.tensors[output.index()].is_stored = false;
  }
  for (const core::NodeId id : graph.order()) {
    if (!is_read_transposed(graph, id, work)) continue;
    work.nodes[id.index()].is_free = true;
    work.nodes[id.index()].starts_launch = false;
    work.tensors[graph.node(id).outputs[0].index()].is_stored = false;
  }
  if (options.is_training) mark_gradients(graph, work);
  for (const core::NodeId id : graph.order())
    work.nodes[id.index()].scores_attention = scores_behind(graph, id, work).has_value();
  for (TensorWork& tensor : work.tensors) tensor.is_stored |= tensor.is_kept;
  if (options.attention == Attention::kStored) return work;
  if (options.is_training) {
    const std::vector<bool> saved = saved_results(graph, work, Recompute::kAttention, {});
    work = computing_again(graph, std::move(work), saved);
  }
  if (options.attention == Attention::kFused)
    for (const core::NodeId id : graph.order())
      if (const auto between = attention_behind(graph, id, work)) fuse(graph, *between, work);
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
