// See layer_runs.h.
#include "parallel/plans/layer_runs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/hash.h"
#include "parallel/plans/repeated_layers.h"

namespace soapstone::parallel {
namespace {

/// Longer layers are not looked for.
constexpr std::size_t kLongestLayer = 4096;
/// Runs that are looked at more closely.
constexpr std::size_t kMostRuns = 32;

std::uint64_t hash_of(const core::TensorType& type) {
  std::uint64_t hash = static_cast<std::uint64_t>(type.data_type);
  for (const core::Polynomial& size : type.shape)
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(size.as_constant().value_or(-1)));
  return hash;
}

std::uint64_t hash_of(const PlannedWeight& weight) {
  std::uint64_t hash = weight.dims.size();
  for (const auto& [dim, axes] : weight.dims) {
    hash = core::hash_combine(hash, core::hash_text(dim));
    for (const std::string& axis : axes) hash = core::hash_combine(hash, core::hash_text(axis));
  }
  return hash;
}

/// By name.
std::map<std::string, std::uint64_t> layouts_of(const PlanDocument& plan) {
  std::map<std::string, std::uint64_t> layouts;
  for (const PlannedWeight& weight : plan.weights) layouts.emplace(weight.name, hash_of(weight));
  return layouts;
}

}  // namespace

std::vector<std::int32_t> pieces_of_nodes(const core::Graph& graph, const PlanDocument& plan) {
  std::vector<std::int32_t> pieces(graph.node_bound(), -1);
  std::size_t at = 0;
  std::int32_t piece = 0;
  std::int64_t stage = 0;
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    const std::int64_t own = plan.nodes[at++].stage;
    if (std::exchange(stage, own) != own) ++piece;
    pieces[id.index()] = piece;
  }
  return pieces;
}

NodeLikeness::NodeLikeness(const PlannedGraph& model, const PlanDocument& plan)
    : hashes_(model.graph.node_bound(), 0), tensors_(model.graph.tensor_bound(), 0) {
  const core::Graph& graph = model.graph;
  const std::map<std::string, std::uint64_t> layouts = layouts_of(plan);
  std::vector<std::uint64_t> forms(tensors_.size(), 0);  // of constants, whatever their values
  const auto settle = [&](core::TensorId id, std::uint64_t value, std::uint64_t form) {
    forms[id.index()] = form;
    tensors_[id.index()] = value;
    if (id.index() >= model.is_weight.size() || !model.is_weight[id.index()]) return;
    const auto layout = layouts.find(weight_name(graph, id));
    tensors_[id.index()] = core::hash_combine(form, layout == layouts.end() ? 1 : layout->second);
  };
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    if (const core::TensorId id(t); graph.contains(id) && !graph.tensor(id).producer.valid())
      settle(id, graph.tensor(id).value ? graph.tensor(id).local_hash : 0,
             hash_of(graph.tensor(id).type));
  std::size_t at = 0;
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    std::uint64_t form = node.local_hash, &hash = hashes_[id.index()] = node.local_hash;
    for (const core::TensorId input : node.inputs) {
      hash = core::hash_combine(hash, input.valid() ? tensors_[input.index()] : 1);
      form = core::hash_combine(form, input.valid() ? forms[input.index()] : 1);
    }
    if (graph.is_constant_expression(id)) {
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        settle(node.outputs[k], core::hash_combine(hash, k), core::hash_combine(form, k));
      continue;
    }
    hash = core::hash_combine(hash, plan.nodes[at++].cuts);
    for (const core::TensorId output : node.outputs) {
      const bool is_kept = model.is_kept.empty() || model.is_kept[output.index()];
      hash = core::hash_combine(hash, (is_kept ? 2u : 0u) + (graph.is_output(output) ? 1u : 0u));
    }
  }
}

LayerOrder::LayerOrder(const core::Graph& graph, const NodeLikeness& kinds,
                       const std::vector<std::int32_t>& pieces)
    : graph_(graph), kinds_(kinds), pieces_(pieces), positions_(graph.node_bound(), kNowhere) {
  std::int32_t last = 0;
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    positions_[id.index()] = nodes_.size();
    nodes_.push_back(id);
    const std::int32_t begun = pieces[id.index()] - std::exchange(last, pieces[id.index()]);
    marks_.push_back(core::hash_combine(kinds.of(id), static_cast<std::uint64_t>(begun)));
  }
}

std::size_t LayerOrder::position_of(core::TensorId id) const {
  const core::NodeId producer = graph_.tensor(id).producer;
  return producer.valid() ? positions_[producer.index()] : kNowhere;
}

bool LayerOrder::is_read_from(core::TensorId id, std::size_t position) const {
  return graph_.is_output(id) ||
         std::ranges::any_of(graph_.consumers(id), [&](core::NodeId reader) {
           const std::size_t at = positions_[reader.index()];
           return at != kNowhere && at >= position;
         });
}

std::vector<LayerRun> LayerOrder::runs(std::size_t copies) const {
  std::vector<LayerRun> found;
  const std::size_t longest = std::min(kLongestLayer, size() / copies);
  for (std::size_t length = 1; length <= longest; ++length) {
    std::size_t equal = 0;  // marks before this one that are as those a layer before
    for (std::size_t k = length; k <= size(); ++k) {
      if (k < size() && marks_[k] == marks_[k - length]) {
        ++equal;
        continue;
      }
      const std::size_t turns = equal / length + 1;
      if (turns >= copies) found.push_back({k - equal - length, length, turns});
      equal = 0;
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const LayerRun& run) { return run.length * (run.copies - 1); });
  if (found.size() > kMostRuns) found.resize(kMostRuns);
  return found;
}

bool LayerOrder::is_repeated(const LayerRun& run, const std::vector<bool>& is_weight) const {
  for (std::size_t k = run.first; k < run.end(); ++k) {
    if (!is_read_nearby(run, k)) return false;
    if (k < run.first + run.length) continue;
    for (std::size_t i = 0; i < graph_.node(nodes_[k]).inputs.size(); ++i)
      if (!reads_alike(run, k, i, is_weight)) return false;
  }
  return true;
}

/// Whether what a node computes is read by its copy and the next one alone.
bool LayerOrder::is_read_nearby(const LayerRun& run, std::size_t position) const {
  const std::size_t copy = (position - run.first) / run.length;
  if (copy + 1 == run.copies) return true;
  const std::size_t end = run.first + (copy + 2) * run.length;
  for (const core::TensorId output : graph_.node(nodes_[position]).outputs)
    for (const core::NodeId reader : graph_.consumers(output))
      if (positions_[reader.index()] >= end) return false;
  return true;
}

bool LayerOrder::reads_alike(const LayerRun& run, std::size_t position, std::size_t input,
                             const std::vector<bool>& is_weight) const {
  const core::TensorId own = graph_.node(nodes_[position]).inputs[input];
  const core::TensorId other = graph_.node(nodes_[position - run.length]).inputs[input];
  if (!own.valid() || !other.valid()) return own.valid() == other.valid();
  if (own.index() < is_weight.size() && is_weight[own.index()])
    return kinds_.of(own) == kinds_.of(other) && reads_weight_alike(run, position, input);
  if (graph_.is_constant_expression(own)) return kinds_.of(own) == kinds_.of(other);
  const std::size_t made = position_of(own);
  if (made == kNowhere || made < run.first) return own == other;
  const std::size_t copy = (position - run.first) / run.length;
  const std::size_t source = (made - run.first) / run.length;
  // The first copy reads what comes before all of them where others read the copy before.
  if (copy == 1 && source == 0)
    return graph_.tensor(own).type == graph_.tensor(other).type &&
           (position_of(other) == kNowhere || position_of(other) < run.first);
  return made >= run.length && position_of(other) == made - run.length &&
         graph_.tensor(own).output_index == graph_.tensor(other).output_index;
}

/// A weight is that of all copies, or of one of them, which reads it as the copy before reads its
/// own.
bool LayerOrder::reads_weight_alike(const LayerRun& run, std::size_t position,
                                    std::size_t input) const {
  const auto of_copy = [&](std::size_t k) { return graph_.node(nodes_[k]).inputs[input]; };
  const core::TensorId own = of_copy(position), other = of_copy(position - run.length);
  const std::size_t offset = (position - run.first) % run.length;
  const std::size_t first = run.first + offset;
  if (own == other) return own == of_copy(first);
  if (of_copy(first) == of_copy(first + run.length)) return false;
  const auto reads = reads_within(own, position - offset, run.length);
  return reads && reads == reads_within(other, position - offset - run.length, run.length);
}

/// Which inputs of a copy that begins here are the weight; none: something else reads it, too.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>>
LayerOrder::reads_within(core::TensorId weight, std::size_t begin, std::size_t length) const {
  std::vector<std::pair<std::size_t, std::size_t>> reads;
  for (const core::NodeId reader : graph_.consumers(weight)) {
    const std::size_t at = positions_[reader.index()];
    if (at == kNowhere || at < begin || at >= begin + length) return std::nullopt;
    const core::Node& node = graph_.node(reader);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] == weight) reads.emplace_back(at - begin, k);
  }
  if (!is_made_for_one(weight)) return std::nullopt;
  std::ranges::sort(reads);
  return reads;
}

/// Whether the floating-point constants that a constant is computed from serve nothing else.
bool LayerOrder::is_made_for_one(core::TensorId constant) const {
  const core::NodeId producer = graph_.tensor(constant).producer;
  if (!producer.valid()) return true;
  return std::ranges::all_of(graph_.node(producer).inputs, [&](core::TensorId input) {
    return !input.valid() || !core::is_floating(graph_.tensor(input).type.data_type) ||
           (graph_.consumers(input).size() == 1 && is_made_for_one(input));
  });
}

}  // namespace soapstone::parallel
