// See node_ranges.h.
#include "ops/ranges/node_ranges.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/ranges/expression_ranges.h"

namespace soapstone::ops {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// The type that a node computes in: a comparison of numbers computes in that of the numbers.
core::DataType computed_type(const Graph& graph, const Node& node) {
  for (const std::vector<TensorId>* tensors : {&node.outputs, &node.inputs})
    for (const TensorId id : *tensors)
      if (id.valid() && core::is_floating(graph.tensor(id).type.data_type))
        return graph.tensor(id).type.data_type;
  return core::DataType::kFloat64;
}

/// How many of the first operands give their elements to the results of a node that computes
/// nothing; 0: it computes, or chooses in a way that its definition tells better.
std::size_t moved_operands(const Node& node) {
  switch (node.op->movement) {
  case Movement::kReshape:
  case Movement::kPermute:
  case Movement::kRepeat:
  case Movement::kCut:
  case Movement::kSplit:
  case Movement::kSelect:
  case Movement::kFrame:
    return 1;
  case Movement::kJoin:
    return node.inputs.size();
  default:
    return 0;
  }
}

/// The number that a frame is made of. None: a frame of elements of the operand.
std::optional<double> frame_value(const Node& node) {
  for (const core::AttributeSchema& schema : node.op->attributes)
    if (schema.role == core::AttributeRole::kReal) return node.attributes.get_real(schema.name);
  return std::nullopt;
}

NodeFacts moved_facts(const Graph& graph, const Node& node, std::size_t count,
                      const std::vector<TensorFact>& operands) {
  NodeFacts facts{{}, std::vector<OperandUse>(node.inputs.size())};
  TensorFact moved{.range = no_values()};
  for (std::size_t k = 0; k < count; ++k) moved.range = join(moved.range, operands[k].range);
  if (node.op->movement == Movement::kFrame)
    if (const auto value = frame_value(node)) moved.range = join(moved.range, point(*value));
  for (std::uint32_t r = 0; r < node.outputs.size(); ++r) {
    moved.number = static_cast<TensorNumber>(node.outputs[r].index());
    moved.shape = graph.tensor(node.outputs[r]).type.shape;
    facts.results.push_back(moved);
    for (std::size_t k = 0; k < count; ++k) {
      const Specials specials = operands[k].range.specials;
      if ((specials & kNan) != 0) facts.operands[k].nan_in.push_back(r);
      if ((specials & kInfinities) != 0) facts.operands[k].infinite_in.push_back(r);
    }
  }
  return facts;
}

/// Stages of all nodes have numbers of their own, below those of tensors.
TensorNumber stage_number(NodeId node, std::size_t stage) {
  constexpr TensorNumber kMostStages = 1 << 16;
  return -1 -
         (static_cast<TensorNumber>(node.index()) * kMostStages + static_cast<TensorNumber>(stage));
}

NodeFacts computed_facts(const Graph& graph, NodeId id, std::vector<TensorFact> operands,
                         InputMagnitude magnitude) {
  const Node& node = graph.node(id);
  const Semantics semantics = semantics_of(graph, id);
  ExpressionRanges ranges(std::move(operands), magnitude,
                          magnitudes_of(computed_type(graph, node)));
  for (std::size_t k = 0; k < semantics.stages.size(); ++k) {
    const auto number = static_cast<std::uint32_t>(semantics.input_count + k);
    const auto result = std::ranges::find(semantics.outputs, number);
    ranges.add_stage(
        semantics.stages[k],
        result == semantics.outputs.end()
            ? stage_number(id, k)
            : static_cast<TensorNumber>(
                  node.outputs[static_cast<std::size_t>(result - semantics.outputs.begin())]
                      .index()));
  }
  NodeFacts facts{{}, std::vector<OperandUse>(node.inputs.size())};
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    facts.operands[k].absorbed = ranges.absorbed()[k];
    facts.operands[k].tested = ranges.tested()[k];
  }
  for (std::uint32_t r = 0; r < semantics.outputs.size(); ++r) {
    const std::uint32_t tensor = semantics.outputs[r];
    TensorFact fact = ranges.fact(tensor);
    fact.number = static_cast<TensorNumber>(node.outputs[r].index());
    const core::DataType type = graph.tensor(node.outputs[r]).type.data_type;
    const bool holds_specials = core::is_floating(type);
    const SpecialSources& sources = ranges.sources(tensor);
    for (const auto& [of, results] : {std::pair(&sources.of_nan, &OperandUse::nan_in),
                                      std::pair(&sources.of_infinity, &OperandUse::infinite_in)})
      for (const std::uint32_t k : *of) {
        OperandUse& use = facts.operands[k];
        if (holds_specials) {
          (use.*results).push_back(r);
        } else {
          use.absorbed = kAllSpecials;
        }
      }
    if (!holds_specials) fact.range.specials = 0;
    facts.results.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace

FloatRange input_range(core::DataType type, InputMagnitude magnitude) {
  if (type == core::DataType::kBool) return {0, 1};
  if (!core::is_floating(type)) return {-0x1p63, 0x1p64};
  const Magnitudes magnitudes = magnitudes_of(type);
  if (magnitude == InputMagnitude::kAny)
    return {-magnitudes.largest, magnitudes.largest, kAllSpecials};
  const double ordinary = ordinary_magnitude(magnitudes);
  return {-ordinary, ordinary};
}

NodeFacts facts_of(const Graph& graph, NodeId id, const std::vector<const TensorFact*>& operands,
                   InputMagnitude magnitude) {
  const Node& node = graph.node(id);
  std::vector<TensorFact> known;
  for (const TensorFact* const operand : operands)
    known.push_back(operand != nullptr ? *operand : TensorFact{.range = no_values()});
  const std::size_t moved = moved_operands(node);
  return moved > 0 ? moved_facts(graph, node, moved, known)
                   : computed_facts(graph, id, std::move(known), magnitude);
}

}  // namespace soapstone::ops
