// Copies are made from a result back to what is kept, so only what the backward pass needs is there
// twice.
#include "parallel/training/recomputation.h"

namespace soapstone::parallel {

Recomputation::Recomputation(core::GraphBuilder& builder, const core::Graph& forward,
                             const TrainingOptions& options)
    : builder_(builder), forward_(forward), saved_(options.saved) {}

bool Recomputation::is_kept(core::TensorId tensor) const {
  const core::NodeId producer = builder_.tensor(tensor).producer;
  if (saved_.empty() || !producer.valid() || !forward_.contains(producer)) return true;
  return forward_.is_output(tensor) || saved_[tensor.index()];  // The loss reads outputs.
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
