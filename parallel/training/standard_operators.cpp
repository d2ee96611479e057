// One node after the other, in topological order: what was appended for one is read by the next.
#include "parallel/training/standard_operators.h"

#include <fmt/format.h>

#include <map>

#include "ops/definition/registry.h"
#include "ops/gradients/gradient_operator.h"
#include "ops/lowering/lower.h"
#include "parallel/training/phases.h"

namespace soapstone::parallel {
namespace {

using core::NodeId;
using core::TensorId;

class StandardForm {
 public:
  StandardForm(TrainingStep step, const StaysNode& stays)
      : step_(std::move(step)), stays_(stays), builder_(step_.graph), nodes_(builder_, step_.graph),
        phases_(step_.phases) {}

  core::Result<TrainingStep> run() {
    const std::vector<NodeId> order(step_.graph.order().begin(), step_.graph.order().end());
    for (const NodeId id : order) {
      if (has_no_standard_operator(id))
        SOAPSTONE_RETURN_IF_ERROR(replace(id));
      else
        read_unexpanded(id);
    }
    for (TrainedWeight& weight : step_.weights) {
      follow(weight.gradient);
      follow(weight.updated);
      for (TensorId& state : weight.updated_states) follow(state);
    }
    SOAPSTONE_ASSIGN_OR_RETURN(step_.graph, std::move(builder_).finish());
    phases_.resize(step_.graph.node_bound(), Phase::kBackward);
    step_.phases = std::move(phases_);
    step_.origins.resize(step_.graph.node_bound(), NodeId::none());
    step_.kept = kept_results(step_.graph, step_.phases);
    return std::move(step_);
  }

 private:
  /// Updates have several inputs, unlike the cast of the learning rate.
  bool has_no_standard_operator(NodeId id) const {
    const core::Node& node = step_.graph.node(id);
    if (ops::is_opaque(node)) return false;
    if (stays_ && stays_(step_.graph, id)) return false;
    return ops::gradient_of(step_.graph, id) ||
           (step_.phases[id.index()] == Phase::kUpdate && node.inputs.size() > 2);
  }

  core::Status replace(NodeId id) {
    const core::Node node = builder_.node(id);
    const auto results = ops::lower(nodes_, node);
    if (!results)
      return results.error().at(
          fmt::format("{} ({})", node.name.empty() ? "a node" : node.name, node.op->name));
    for (std::size_t k = 0; k < results->size(); ++k) {
      builder_.replace_uses(node.outputs[k], (*results)[k]);
      replaced_.emplace(node.outputs[k], (*results)[k]);
      mark((*results)[k], id);
    }
    return core::Done{};
  }

  /// What a gradient repeats along dimensions an elementwise operator repeats by itself, where
  /// another operand has these dimensions.
  void read_unexpanded(NodeId id) {
    const core::Node node = builder_.node(id);
    const ops::OpDefinition* const definition = ops::definition_of(node);
    if (!definition || definition->op_class != ops::OpClass::kElementwise ||
        node.outputs.size() != 1 || node.inputs.size() < 2)
      return;
    std::vector<TensorId> inputs = node.inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (const TensorId source = source_of_expand(inputs[k]);
          source.valid() && others_span(inputs, k, source))
        inputs[k] = source;
    if (inputs == node.inputs) return;
    const TensorId result = nodes_.append(node.op->name, inputs, node.attributes);
    if (!result.valid()) return;
    builder_.replace_uses(node.outputs[0], result);
    replaced_.emplace(node.outputs[0], result);
    mark(result, id);
  }

  /// The tensor of the same rank that an expand repeats; none: the tensor is no such result.
  TensorId source_of_expand(TensorId tensor) const {
    const NodeId producer = tensor.valid() ? builder_.tensor(tensor).producer : NodeId::none();
    if (!producer.valid() || builder_.node(producer).op->name != "expand") return TensorId::none();
    const TensorId source = builder_.node(producer).inputs[0];
    const auto rank = [&](TensorId id) { return builder_.tensor(id).type.shape.size(); };
    return rank(source) == rank(tensor) ? source : TensorId::none();
  }

  /// Whether another operand has each dimension of operand k that its source has not.
  bool others_span(const std::vector<TensorId>& inputs, std::size_t k, TensorId source) const {
    const core::Shape& whole = builder_.tensor(inputs[k]).type.shape;
    const core::Shape& small = builder_.tensor(source).type.shape;
    for (std::size_t d = 0; d < whole.size(); ++d) {
      if (small[d] == whole[d]) continue;
      bool is_spanned = false;
      for (std::size_t other = 0; other < inputs.size(); ++other) {
        const core::Shape& shape = builder_.tensor(inputs[other]).type.shape;
        const std::size_t from_end = whole.size() - d;
        if (other != k && shape.size() >= from_end)
          is_spanned = is_spanned || shape[shape.size() - from_end] == whole[d];
      }
      if (!is_spanned) return false;
    }
    return true;
  }

  /// Nodes that were appended for a result have the phase and the origin of its node.
  void mark(TensorId result, NodeId node) {
    const NodeId last = builder_.tensor(result).producer;
    if (!last.valid() || last.index() < phases_.size()) return;
    phases_.resize(last.index() + 1, step_.phases[node.index()]);
    step_.origins.resize(last.index() + 1, step_.origins[node.index()]);
  }

  void follow(TensorId& tensor) const {
    for (auto at = replaced_.find(tensor); at != replaced_.end(); at = replaced_.find(tensor))
      tensor = at->second;
  }

  TrainingStep step_;
  const StaysNode& stays_;
  core::GraphBuilder builder_;
  ops::SharedNodes nodes_;
  std::map<TensorId, TensorId> replaced_;
  std::vector<Phase> phases_;  ///< By node number.
};

}  // namespace

core::Result<TrainingStep> with_standard_operators(TrainingStep step, const StaysNode& stays) {
  return StandardForm(std::move(step), stays).run();
}

}  // namespace soapstone::parallel
