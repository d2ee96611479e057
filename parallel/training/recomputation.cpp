// Copies are made from a result back to what is kept, so only what the backward pass needs is there
// twice.
#include "parallel/training/recomputation.h"

#include "ops/analysis/analysis.h"

namespace soapstone::parallel {
namespace {

/// Whether a node takes so few operations that keeping its results costs more than making them
/// again: activations take a few for each element, norms and softmax some ten, contractions
/// hundreds.
bool is_cheap(const core::Graph& graph, core::NodeId id) {
  constexpr double kMostOperations = 32;
  double elements = 0;
  for (const core::TensorId t : graph.node(id).outputs) {
    const auto dims = core::concrete(graph.tensor(t).type.shape);
    if (!dims) return false;
    elements += static_cast<double>(core::element_count(*dims));
  }
  return ops::work_of(graph, id).flops <= kMostOperations * elements;
}

}  // namespace

Recomputation::Recomputation(core::GraphBuilder& builder, const core::Graph& forward,
                             const TrainingOptions& options)
    : builder_(builder), forward_(forward), policy_(options.recompute),
      borders_(options.borders.begin(), options.borders.end()) {}

bool Recomputation::is_kept(core::TensorId tensor) const {
  const core::NodeId producer = builder_.tensor(tensor).producer;
  if (policy_ == Recompute::kNone || !producer.valid() || !forward_.contains(producer)) return true;
  if (forward_.is_output(tensor)) return true;  // The loss reads it.
  if (policy_ == Recompute::kFull) return borders_.contains(tensor);
  return !is_cheap(forward_, producer);
}

core::TensorId Recomputation::operand(core::TensorId tensor) {
  if (!tensor.valid() || is_kept(tensor)) return tensor;
  if (const auto known = copies_.find(tensor); known != copies_.end()) return known->second;
  const core::Node node = builder_.node(builder_.tensor(tensor).producer);
  std::vector<core::TensorId> inputs;
  for (const core::TensorId input : node.inputs) inputs.push_back(operand(input));
  std::vector<core::TensorType> types;
  for (const core::TensorId output : node.outputs) types.push_back(builder_.tensor(output).type);
  const auto copies =
      builder_.add_node(*node.op, node.attributes, std::move(inputs), std::move(types),
                        node.name.empty() ? "" : node.name + "/again");
  nodes_.push_back(builder_.tensor(copies.front()).producer);
  for (std::size_t k = 0; k < copies.size(); ++k)
    if (!is_kept(node.outputs[k])) copies_.emplace(node.outputs[k], copies[k]);
  return copies_.at(tensor);
}

}  // namespace soapstone::parallel
