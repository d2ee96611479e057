// Grows launches: which nodes behind a head are steps of its epilogue. Called for every candidate
// graph of a search, so it builds no text and looks at shapes in place.
#include "runtime/launches/launch_plan.h"

#include <algorithm>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/registry.h"
#include "ops/parts/product_labels.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::Shape;
using core::TensorId;

bool is_one(const core::Size& size) { return size.as_constant() == 1; }

/// The dimension that a bias follows: the channels of an image, else the last one.
std::size_t channel_axis(const Node& head, std::size_t rank) {
  const ops::OpDefinition* definition = ops::definition_of(head);
  const bool makes_image = definition != nullptr &&
                           definition->op_class == ops::OpClass::kContraction &&
                           head.op->operand_role(0) == core::OperandRole::kImage;
  return makes_image ? 1 : rank - 1;
}

/// True if `operand` broadcasts to `result` and varies with the channel at most.
bool is_per_channel(const Shape& operand, const Shape& result, std::size_t axis) {
  if (operand.size() > result.size() || result.empty()) return operand.empty();
  const std::size_t shift = result.size() - operand.size();
  for (std::size_t i = 0; i < operand.size(); ++i) {
    if (is_one(operand[i])) continue;
    if (i + shift != axis || operand[i] != result[axis]) return false;
  }
  return true;
}

/// True if `operand` has a row of its own for each product of a batch of matrix products that have
/// right sides of their own.
bool is_per_product(const Graph& graph, const Node& head, const Shape& operand,
                    const Shape& result) {
  const std::size_t rank = result.size();
  if (head.op->operand_role(0) != core::OperandRole::kLeftMatrix || rank < 3 ||
      operand.size() != rank || !is_one(operand[rank - 2]) || operand[rank - 1] != result[rank - 1])
    return false;
  const Shape& right = graph.tensor(head.inputs[1]).type.shape;
  const auto batch = static_cast<std::ptrdiff_t>(rank) - 2;
  return right.size() == rank && std::equal(right.begin(), right.begin() + batch, result.begin()) &&
         std::equal(operand.begin(), operand.begin() + batch, result.begin());
}

/// The head of a launch as steps behind it see it.
struct Head {
  explicit Head(const Node& head) : node(head), is_einsum(ops::is_einsum_product(head)) {}
  const Node& node;
  bool is_einsum;  ///< Steps behind it read whatever broadcasts to the result.
};

std::optional<EpilogueStep> binary_step(const Graph& graph, const Head& head, TensorId result,
                                        NodeId id) {
  const Node& node = graph.node(id);
  const bool first = node.inputs[0] == result;
  const TensorId operand = node.inputs[first ? 1 : 0];
  if (operand == result) return std::nullopt;
  const ops::Arithmetic operation = ops::arithmetic_of(*node.op);
  const bool adds = operation == ops::Arithmetic::kSum;
  const bool subtracts = operation == ops::Arithmetic::kDifference;
  if (operation == ops::Arithmetic::kNone) return std::nullopt;
  if (!first && (subtracts || operation == ops::Arithmetic::kQuotient)) return std::nullopt;
  const core::TensorType& type = graph.tensor(result).type;
  const core::TensorType& other = graph.tensor(operand).type;
  if (other.data_type != type.data_type) return std::nullopt;
  if (head.is_einsum) {
    const bool is_residual = adds && other == type;
    const EpilogueKind sum = is_residual ? EpilogueKind::kResidual : EpilogueKind::kBias;
    return EpilogueStep{adds || subtracts ? sum : EpilogueKind::kScale, id, operand};
  }
  if (is_per_channel(other.shape, type.shape, channel_axis(head.node, type.shape.size()))) {
    return EpilogueStep{adds || subtracts ? EpilogueKind::kBias : EpilogueKind::kScale, id,
                        operand};
  }
  if (adds && is_per_product(graph, head.node, other.shape, type.shape))
    return EpilogueStep{EpilogueKind::kBatchBias, id, operand};
  if (adds && other == type) return EpilogueStep{EpilogueKind::kResidual, id, operand};
  return std::nullopt;
}

/// The step that the sole reader `id` of `result` would be.
std::optional<EpilogueStep> step_of(const Graph& graph, const Head& head, TensorId result,
                                    NodeId id) {
  const Node& node = graph.node(id);
  const ops::OpDefinition* definition = ops::definition_of(node);
  if (!definition || definition->op_class != ops::OpClass::kElementwise) return std::nullopt;
  if (node.outputs.size() != 1) return std::nullopt;
  if (graph.tensor(node.outputs[0]).type != graph.tensor(result).type) return std::nullopt;
  if (node.inputs.size() == 1) return EpilogueStep{EpilogueKind::kActivation, id, TensorId::none()};
  if (node.inputs.size() == 2) return binary_step(graph, head, result, id);
  return std::nullopt;
}

/// The step that the two readers of `result` would be if the second is the product of it and the
/// first.
std::optional<EpilogueStep> gate_step(const Graph& graph, TensorId result, NodeId function,
                                      NodeId product) {
  const Node &inner = graph.node(function), &outer = graph.node(product);
  const ops::OpDefinition* definition = ops::definition_of(inner);
  if (!definition || definition->op_class != ops::OpClass::kElementwise) return std::nullopt;
  if (inner.inputs.size() != 1 || inner.outputs.size() != 1) return std::nullopt;
  if (ops::arithmetic_of(*outer.op) != ops::Arithmetic::kProduct) return std::nullopt;
  const TensorId factor = inner.outputs[0];
  if (graph.consumers(factor).size() != 1 || graph.is_output(factor)) return std::nullopt;
  if (std::ranges::find(outer.inputs, factor) == outer.inputs.end()) return std::nullopt;
  const core::TensorType& type = graph.tensor(result).type;
  if (graph.tensor(factor).type != type || graph.tensor(outer.outputs[0]).type != type)
    return std::nullopt;
  return EpilogueStep{EpilogueKind::kGate, product, TensorId::none(), function};
}

/// The step that the readers of `result` would be.
std::optional<EpilogueStep> step_behind(const Graph& graph, const Head& head, TensorId result) {
  const auto readers = graph.consumers(result);
  if (readers.size() == 1) return step_of(graph, head, result, readers[0]);
  if (readers.size() != 2) return std::nullopt;
  const auto step = gate_step(graph, result, readers[0], readers[1]);
  return step ? step : gate_step(graph, result, readers[1], readers[0]);
}

void add_inputs(const Node& node, TensorId chain, Launch& launch) {
  for (TensorId input : node.inputs) {
    if (!input.valid() || input == chain) continue;
    bool known = false;
    for (TensorId other : launch.inputs) known = known || other == input;
    if (!known) launch.inputs.push_back(input);
  }
}

}  // namespace

std::string_view to_string(Fusion fusion) {
  switch (fusion) {
  case Fusion::kNone:
    return "none";
  case Fusion::kActivation:
    return "activation";
  case Fusion::kFull:
    return "full";
  case Fusion::kGenerated:
    return "generated";
  }
  return "";
}

std::vector<NodeId> Launch::nodes() const {
  std::vector<NodeId> all = {head};
  for (const EpilogueStep& step : epilogue) {
    if (step.gate.valid()) all.push_back(step.gate);
    all.push_back(step.node);
  }
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

Launch grow_launch(const Graph& graph, NodeId head, const FusionRules& rules,
                   std::span<const std::uint32_t> taken) {
  const Node& first = graph.node(head);
  Launch launch;
  launch.head = head;
  add_inputs(first, TensorId::none(), launch);
  // The operand of a step never depends on the head: the only way on from the head's result is
  // through the step itself. So the launch can run where its last node stands.
  TensorId result = first.outputs.size() == 1 ? first.outputs[0] : TensorId::none();
  const Head seen(first);
  const auto is_taken = [&](NodeId id) { return !taken.empty() && taken[id.index()] != 0; };
  while (result.valid() && !graph.is_output(result)) {
    const auto step = step_behind(graph, seen, result);
    if (!step || is_taken(step->node) || is_taken(step->function())) break;
    if (!rules.can_append(graph, launch, *step)) break;
    launch.epilogue.push_back(*step);
    if (!step->gate.valid()) add_inputs(graph.node(step->node), result, launch);
    result = graph.node(step->node).outputs[0];
  }
  launch.outputs = graph.node(launch.last_node()).outputs;
  return launch;
}

}  // namespace soapstone::runtime
