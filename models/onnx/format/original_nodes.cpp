// Finds original nodes in a graph by structure, not by ids alone: a node that was merged with its
// equal, or whose operands a rule replaced, still means what the original does.
#include "models/onnx/format/original_nodes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// Element k of the unit matrix or kernel that `eye` makes.
bool is_one_in_eye(const core::Dims& dims, std::size_t k) {
  std::size_t window = 1, center = 0;
  for (std::size_t d = 2; d < dims.size(); ++d) {
    center = center * static_cast<std::size_t>(dims[d]) + static_cast<std::size_t>(dims[d] - 1) / 2;
    window *= static_cast<std::size_t>(dims[d]);
  }
  const std::size_t at = k / window, columns = static_cast<std::size_t>(dims[1]);
  return k % window == center && at / columns == at % columns;
}

/// The node makes exactly these elements: the search writes uniform weights as `full` and `eye`.
bool makes(const core::Node& node, const core::Literal& literal) {
  const bool full = node.op->movement == core::Movement::kFill;
  const bool eye = node.op->movement == core::Movement::kDiagonal;
  if ((!full && !eye) || literal.data_type() != core::DataType::kFloat32) return false;
  const core::Shape& shape = ops::sizes_by_role(node, core::AttributeRole::kShape);
  if (core::concrete(shape) != literal.dims()) return false;
  const std::span<const float> values = literal.as<float>();
  const float value = full ? static_cast<float>(ops::fill_value(node)) : 0.0F;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const float expected = full ? value : is_one_in_eye(literal.dims(), k) ? 1.0F : 0.0F;
    // As bits, which tell -0 from 0 and one NaN from another.
    if (std::bit_cast<std::uint32_t>(values[k]) != std::bit_cast<std::uint32_t>(expected))
      return false;
  }
  return true;
}

/// Tensors that have names.
using TensorsByName = std::map<std::string, TensorId>;

bool holds(const Graph& graph, TensorId id, const core::LiteralPtr& value) {
  const core::Tensor& tensor = graph.tensor(id);
  if (tensor.value) return tensor.value == value || *tensor.value == *value;
  return tensor.producer.valid() && makes(graph.node(tensor.producer), *value);
}

/// Walks an original's subgraph in the imported graph and in another one side by side, from its
/// results to its inputs.
class Match {
 public:
  /// `by_name`: where a result of the original is looked for; null: under its own id.
  Match(const Graph& graph, const Graph& imported, const OriginalNode& original,
        const TensorsByName* by_name)
      : graph_(graph), imported_(imported), original_(original), by_name_(by_name) {}

  std::optional<WrittenNode> run() {
    WrittenNode written{&original_, {}, {}, {}, {}};
    for (TensorId result : original_.results) {
      if (!is_own(result)) continue;
      const TensorId now = place_of(result);
      if (!now.valid()) continue;
      const NodeId producer = graph_.tensor(now).producer;
      // Several nodes with a result each could come to depend on each other.
      if (written.result.valid() && written.result != producer) return std::nullopt;
      if (!match_tensor(result, now)) return std::nullopt;
      written.result = producer;
    }
    if (!written.result.valid() || !take_inputs(written)) return std::nullopt;
    for (const auto& [before, now] : nodes_) written.nodes.push_back(now);
    for (TensorId result : original_.results) written.results.push_back(made_by(written, result));
    return written;
  }

 private:
  TensorId place_of(TensorId result) const {
    if (!by_name_) return graph_.contains(result) ? result : TensorId::none();
    const auto found = by_name_->find(imported_.tensor(result).name);
    return found == by_name_->end() ? TensorId::none() : found->second;
  }

  /// The tensor that the original's result is now. A result without a name is found through another
  /// result of the same node.
  TensorId made_by(const WrittenNode& written, TensorId result) const {
    if (!is_own(result)) return TensorId::none();
    const core::Tensor& before = imported_.tensor(result);
    const auto found = nodes_.find(before.producer);
    if (found == nodes_.end() || found->second != written.result) return TensorId::none();
    return graph_.node(written.result).outputs[before.output_index];
  }

  bool is_input(TensorId id) const {
    return std::find(original_.inputs.begin(), original_.inputs.end(), id) !=
           original_.inputs.end();
  }

  /// Whether the tensor was made by a node that the original's reader appended. A result may also
  /// be a tensor that the original reads.
  bool is_own(TensorId id) const {
    if (!id.valid() || is_input(id) || !imported_.contains(id)) return false;
    const NodeId producer = imported_.tensor(id).producer;
    return producer.valid() &&
           std::binary_search(original_.nodes.begin(), original_.nodes.end(), producer);
  }

  bool match_tensor(TensorId before, TensorId now) {
    if (!before.valid() || !now.valid()) return before.valid() == now.valid();
    if (const auto known = bound_.find(before); known != bound_.end()) return known->second == now;
    const core::Tensor &was = imported_.tensor(before), &is = graph_.tensor(now);
    if (was.type != is.type) return false;
    // A reader that knew the value may have relied on it.
    if (was.value && !holds(graph_, now, was.value)) return false;
    bound_.emplace(before, now);
    if (was.value || is_input(before)) return true;
    return is_own(before) && is.producer.valid() && was.output_index == is.output_index &&
           match_node(was.producer, is.producer);
  }

  bool match_node(NodeId before, NodeId now) {
    const auto [known, is_new] = nodes_.emplace(before, now);
    if (!is_new) return known->second == now;
    const core::Node &was = imported_.node(before), &is = graph_.node(now);
    if (was.op != is.op || was.attributes != is.attributes || was.inputs.size() != is.inputs.size())
      return false;
    for (std::size_t k = 0; k < was.inputs.size(); ++k) {
      if (!match_tensor(was.inputs[k], is.inputs[k])) return false;
    }
    return true;
  }

  /// Inputs that no node reads were constants, or only their type was asked for.
  bool take_inputs(WrittenNode& written) const {
    for (std::size_t k = 0; k < original_.inputs.size(); ++k) {
      const TensorId before = original_.inputs[k];
      const auto known = bound_.find(before);
      if (known != bound_.end()) {
        written.inputs.push_back(known->second);
      } else if (!before.valid() || original_.values[k]) {
        written.inputs.push_back(TensorId::none());
      } else if (is_before(before, written.result)) {
        written.inputs.push_back(before);
      } else {
        return false;
      }
    }
    return true;
  }

  /// The tensor of that id is still there, and known before the node runs.
  bool is_before(TensorId id, NodeId node) const {
    if (!graph_.contains(id) || !imported_.contains(id)) return false;
    const core::Tensor& tensor = graph_.tensor(id);
    if (tensor.type != imported_.tensor(id).type) return false;
    if (!tensor.producer.valid()) return true;
    const auto order = graph_.order();
    const auto first = std::find_if(order.begin(), order.end(), [&](NodeId each) {
      return each == node || each == tensor.producer;
    });
    return first != order.end() && *first == tensor.producer && *first != node;
  }

  const Graph& graph_;
  const Graph& imported_;
  const OriginalNode& original_;
  const TensorsByName* by_name_;
  std::map<TensorId, TensorId> bound_;  // by tensor of the imported graph
  std::map<NodeId, NodeId> nodes_;      // by node of the imported graph
};

}  // namespace

OriginalPlan::OriginalPlan(const Graph& graph, const OriginalNodes* originals)
    : at_(graph.node_bound(), 0), needed_(graph.node_bound(), false) {
  if (originals) find(graph, *originals);
  do {
    mark_needed(graph);
  } while (drop_unfoldable(graph));
}

const WrittenNode* OriginalPlan::at(NodeId id) const {
  const std::size_t index = at_[id.index()];
  return index == 0 ? nullptr : &written_[index - 1];
}

void OriginalPlan::find(const Graph& graph, const OriginalNodes& originals) {
  // A graph that was put into another order, or read again at other sizes, has other ids.
  TensorsByName by_name;
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    const TensorId id(k);
    if (graph.contains(id) && !graph.tensor(id).name.empty())
      by_name.emplace(graph.tensor(id).name, id);
  }
  for (const OriginalNode& original : originals.nodes) {
    auto match = Match(graph, originals.imported, original, nullptr).run();
    if (!match) match = Match(graph, originals.imported, original, &by_name).run();
    if (!match || at_[match->result.index()] != 0) continue;
    written_.push_back(*std::move(match));
    at_[written_.back().result.index()] = written_.size();
  }
}

/// A constant expression that a node of its own reads too is folded for that one, and is then gone
/// from the original: such an original is written in its parts.
bool OriginalPlan::drop_unfoldable(const Graph& graph) {
  bool dropped = false;
  for (std::size_t k = 0; k < written_.size(); ++k) {
    const WrittenNode& written = written_[k];
    std::size_t& at = at_[written.result.index()];
    if (at != k + 1 || graph.is_constant_expression(written.result)) continue;
    const bool folded = std::any_of(written.nodes.begin(), written.nodes.end(), [&](NodeId id) {
      return graph.is_constant_expression(id) && is_needed(id);
    });
    if (folded) at = 0;
    dropped |= folded;
  }
  return dropped;
}

void OriginalPlan::mark_needed(const Graph& graph) {
  needed_.assign(graph.node_bound(), false);
  std::vector<TensorId> open(graph.outputs().begin(), graph.outputs().end());
  const auto need = [&](const std::vector<TensorId>& inputs) {
    open.insert(open.end(), inputs.begin(), inputs.end());
  };
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    if (!id.valid() || !graph.tensor(id).producer.valid()) continue;
    const NodeId producer = graph.tensor(id).producer;
    if (needed_[producer.index()]) continue;
    needed_[producer.index()] = true;
    const WrittenNode* original = at(producer);
    need(original ? original->inputs : graph.node(producer).inputs);
  }
}

std::vector<NodeId> constants_within_originals(const Graph& graph, const OriginalNodes& originals) {
  const OriginalPlan plan(graph, &originals);
  std::vector<bool> kept(graph.node_bound(), false);
  for (NodeId id : graph.order()) {
    const WrittenNode* written = plan.is_needed(id) ? plan.at(id) : nullptr;
    if (!written || graph.is_constant_expression(id)) continue;
    for (NodeId part : written->nodes)
      kept[part.index()] = kept[part.index()] || graph.is_constant_expression(part);
  }
  std::vector<NodeId> result;
  for (NodeId id : graph.order()) {
    if (kept[id.index()]) result.push_back(id);
  }
  return result;
}

}  // namespace soapstone::models
