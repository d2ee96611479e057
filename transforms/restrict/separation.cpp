#include "transforms/restrict/separation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/restrict/partial_operator.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of results of one node.
constexpr std::size_t kMostSeparate = 8;
/// Operators from the results up to the product.
constexpr std::size_t kLongestSeparation = 12;

constexpr std::string_view kSeparationDescription = "What is read in parts is computed in parts.";

std::vector<Box> parts_taken(const Graph& graph, const Node& split) {
  const std::size_t axis = ops::axis_by_role(split);
  std::vector<Box> parts;
  std::int64_t begin = 0;
  for (const TensorId id : split.outputs) {
    Box box = whole_box(graph, id);
    const std::int64_t size = box[axis].high;
    box[axis] = {begin, begin + size};
    begin += size;
    parts.push_back(std::move(box));
  }
  return parts;
}

/// Whether something is done to each element of the tensor, as it is or reshaped.
bool has_step_behind(const Graph& graph, TensorId id) {
  return std::ranges::any_of(graph.consumers(id), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    if (node.op->is_opaque()) return false;
    if (node.op->movement == Movement::kReshape) return has_step_behind(graph, node.outputs[0]);
    return ops::definition_of(node)->op_class == ops::OpClass::kElementwise;
  });
}

class Separation {
 public:
  explicit Separation(const Graph& graph) : graph_(graph) {}

  /// None: operands of some operator would still be cut.
  std::optional<RewriteSequence> plan(const Node& split) {
    if (!go_up(split.inputs[0], parts_taken(graph_, split), &split)) return std::nullopt;
    return std::move(plan_);
  }

 private:
  /// True: all that is computed of the tensor is computed in parts.
  bool go_up(TensorId id, const std::vector<Box>& parts, const Node* split) {
    const NodeId producer = graph_.tensor(id).producer;
    if (plan_.steps.size() == kLongestSeparation || !producer.valid() || graph_.is_output(id) ||
        graph_.consumers(id).size() != 1)
      return false;
    const Node& node = graph_.node(producer);
    if (node.outputs.size() != 1 || !has_known_sizes(graph_, node)) return false;
    auto separate = separate_operators(graph_, producer, parts, split);
    if (!separate) return false;
    RewriteStep step;
    if (split != nullptr)
      step.results = split->outputs;
    else
      step.readers_of = {id};
    step.texts = std::move(separate->texts);
    step.description = kSeparationDescription;
    plan_.steps.push_back(std::move(step));
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (!is_separated(node, k, separate->operands[k])) return false;
    return true;
  }

  bool is_separated(const Node& node, std::size_t k, const std::vector<OperandPiece>& pieces) {
    const TensorId input = node.inputs[k];
    if (!input.valid() || graph_.is_constant_expression(input)) return true;
    std::vector<Box> boxes;
    for (const OperandPiece& piece : pieces)
      if (piece.box) boxes.push_back(*piece.box);
    if (boxes.empty()) return true;
    // Each cut is to be read by one part, in their order.
    return boxes.size() == pieces.size() && std::ranges::count(node.inputs, input) == 1 &&
           go_up(input, boxes, nullptr);
  }

  const Graph& graph_;
  RewriteSequence plan_;
};

}  // namespace

std::vector<RewriteSequence> find_separation(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != Movement::kSplit || node.outputs.size() > kMostSeparate ||
        graph.is_constant_expression(id) || !has_known_sizes(graph, node) ||
        std::ranges::none_of(node.outputs,
                             [&](TensorId part) { return has_step_behind(graph, part); }))
      continue;
    if (auto plan = Separation(graph).plan(node)) plans.push_back(*std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::transforms
