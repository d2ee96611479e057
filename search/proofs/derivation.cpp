// See derivation.h.
#include "search/proofs/derivation.h"

#include <algorithm>
#include <optional>

#include "ops/definition/registry.h"
#include "rules/rule/substitute.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::Result;
using core::TensorId;
using rules::ClassId;
using rules::Rule;

core::Error refused(std::string message) {
  return {core::ErrorCode::kNotEquivalent, std::move(message), {}, {}};
}

/// The source of a rule, of these sizes.
Result<Graph> instance_of(const Graph& source, std::span<const core::TensorType> inputs,
                          const std::vector<std::int64_t>& sizes) {
  core::GraphBuilder builder;
  std::vector<TensorId> mine(source.tensor_bound());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    mine[source.inputs()[k].index()] = builder.add_input({}, inputs[k]);
  const auto id_of = [&](TensorId id) {
    if (!id.valid()) return id;
    TensorId& known = mine[id.index()];
    if (!known.valid()) known = builder.add_constant(source.tensor(id).value);
    return known;
  };
  for (const NodeId id : source.order()) {
    const core::Node& node = source.node(id);
    std::vector<TensorId> operands;
    std::vector<core::TensorType> types;
    for (const TensorId input : node.inputs) {
      operands.push_back(id_of(input));
      types.push_back(input.valid() ? builder.tensor(operands.back()).type
                                    : core::TensorType{core::DataType::kOther, {}, false});
    }
    auto attributes = rules::with_numbers(*node.op, node.attributes, sizes);
    if (!attributes) return refused("a size does not fit into 64 bits");
    auto results = ops::infer_types(*node.op, *attributes, types);
    if (!results || results->size() != node.outputs.size())
      return refused("its source has no types for these sizes");
    const auto made = builder.add_node(*node.op, *std::move(attributes), std::move(operands),
                                       *std::move(results));
    for (std::size_t k = 0; k < made.size(); ++k) mine[node.outputs[k].index()] = made[k];
  }
  std::vector<TensorId> outputs;
  for (const TensorId id : source.outputs()) outputs.push_back(id_of(id));
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

/// The match of the whole instance, inputs in their order.
std::optional<rules::Match> whole_match(const rules::RuleSet& rules, core::RuleId rule,
                                        const Graph& instance,
                                        std::span<const std::int64_t> sizes) {
  // Ignore that inputs must be constant: that is a matter of costs, not of equality.
  Rule plain = rules[rule];
  if (std::ranges::find(plain.constant_inputs, true) != plain.constant_inputs.end()) {
    plain.constant_inputs.assign(plain.constant_inputs.size(), false);
    return whole_match(rules::RuleSet({std::move(plain)}), core::RuleId(0), instance, sizes);
  }
  std::optional<rules::Match> found;
  rules.for_each_match(instance, [&](core::RuleId id, const rules::Match& match) {
    if (id == rule && std::ranges::equal(match.nodes, instance.order()) &&
        std::ranges::equal(match.inputs, instance.inputs()) &&
        std::ranges::equal(match.outputs, instance.outputs()) &&
        std::ranges::equal(match.sizes, sizes))
      found = match;
    return !found;
  });
  return found;
}

/// Finds the tensors of `right` that the target's own tensors became. Added nodes follow the old
/// ones, in the order of the target.
Result<std::vector<TensorId>> made_by(const Graph& target, const Graph& left, const Graph& right) {
  std::vector<TensorId> made;
  const auto tensors = numbered_tensors(target);
  for (std::size_t k = target.inputs().size(); k < tensors.size(); ++k) {
    const core::Tensor& tensor = target.tensor(tensors[k]);
    TensorId found;
    if (tensor.value) {
      for (std::size_t at = left.tensor_bound(); at < right.tensor_bound(); ++at)
        if (right.contains(TensorId(at)) && right.tensor(TensorId(at)).value == tensor.value)
          found = TensorId(at);
    } else {
      const auto position = std::ranges::find(target.order(), tensor.producer);
      const NodeId node(left.node_bound() +
                        static_cast<std::size_t>(position - target.order().begin()));
      if (right.contains(node)) found = right.node(node).outputs[tensor.output_index];
    }
    if (!found.valid()) return refused("its target is not all there");
    made.push_back(found);
  }
  return made;
}

}  // namespace

std::vector<TensorId> numbered_tensors(const Graph& graph) {
  std::vector<TensorId> tensors(graph.inputs().begin(), graph.inputs().end());
  const auto note = [&](TensorId id) {
    if (!id.valid() || !graph.tensor(id).value) return;
    const bool known = std::ranges::any_of(tensors, [&](TensorId other) {
      return graph.tensor(other).value && *graph.tensor(other).value == *graph.tensor(id).value;
    });
    if (!known) tensors.push_back(id);
  };
  for (const NodeId id : graph.order()) std::ranges::for_each(graph.node(id).inputs, note);
  std::ranges::for_each(graph.outputs(), note);
  for (const NodeId id : graph.order())
    tensors.insert(tensors.end(), graph.node(id).outputs.begin(), graph.node(id).outputs.end());
  return tensors;
}

Result<Equation> equation_at(verifier::Admission& admission, core::RuleId id,
                             std::span<const core::TensorType> inputs,
                             std::span<const std::int64_t> sizes) {
  const Rule& rule = admission.rules()[id];
  if (inputs.size() != rule.source.inputs().size() || sizes.size() != rule.source.symbols().size())
    return refused("it has another number of inputs or sizes");
  SOAPSTONE_ASSIGN_OR_RETURN(
      Graph left,
      instance_of(rule.source, inputs, std::vector<std::int64_t>(sizes.begin(), sizes.end())));
  const auto match = whole_match(admission.rules(), id, left, sizes);
  if (!match) return refused("it does not match there");
  // In an e-graph each side may stand for the other.
  const std::string reason = admission.refusal(id, *match, verifier::RuleUse::kBothWays);
  if (!reason.empty()) return refused("it is not admitted: " + reason);
  SOAPSTONE_ASSIGN_OR_RETURN(Graph right, rules::apply(left, rule, *match));
  SOAPSTONE_ASSIGN_OR_RETURN(auto made, made_by(rule.target, left, right));
  return Equation{std::move(left), std::move(right), std::move(made)};
}

Derivation::Derivation(const Graph& source) {
  for (const TensorId id : source.inputs())
    inputs_.push_back(
        graph_.add_input(static_cast<std::uint32_t>(inputs_.size()), source.tensor(id).type));
  const auto classes = graph_.add_graph(source, inputs_);
  for (const TensorId id : numbered_tensors(source)) tensors_.push_back(classes[id.index()]);
  for (const TensorId id : source.outputs()) outputs_.push_back(classes[id.index()]);
}

void Derivation::assume(const Equation& equation, std::span<const std::size_t> inputs) {
  std::vector<ClassId> at;
  for (const std::size_t k : inputs) at.push_back(tensors_[k]);
  const auto left = graph_.add_graph(equation.left, at);
  const auto right = graph_.add_graph(equation.right, at);
  for (std::size_t k = 0; k < equation.left.outputs().size(); ++k)
    graph_.merge(left[equation.left.outputs()[k].index()],
                 right[equation.right.outputs()[k].index()]);
  for (const TensorId id : equation.made) tensors_.push_back(right[id.index()]);
}

bool Derivation::gives(const Graph& target) {
  const auto classes = graph_.add_graph(target, inputs_);
  graph_.rebuild();
  if (target.outputs().size() != outputs_.size()) return false;
  for (std::size_t k = 0; k < outputs_.size(); ++k)
    if (graph_.find(classes[target.outputs()[k].index()]) != graph_.find(outputs_[k])) return false;
  return true;
}

}  // namespace soapstone::search
