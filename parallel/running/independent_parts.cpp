// See independent_parts.h.
#include "parallel/running/independent_parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "parallel/pieces/part_graphs.h"

namespace soapstone::parallel {
namespace {

/// Sets of tensors that grow together.
class Connected {
 public:
  explicit Connected(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

bool connects(const core::Graph& graph, core::TensorId tensor) {
  return tensor.valid() && !graph.is_constant_expression(tensor) &&
         core::element_count(*core::concrete(graph.tensor(tensor).type.shape)) != 1;
}

Connected connected_tensors(const core::Graph& graph) {
  Connected sets(graph.tensor_bound());
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    for (const core::TensorId output : node.outputs)
      sets.join(output.index(), node.outputs[0].index());
    for (const core::TensorId input : node.inputs)
      if (connects(graph, input)) sets.join(input.index(), node.outputs[0].index());
  }
  return sets;
}

/// The step with some of its outputs, and what these need.
core::Result<ComputeStep> part_of(const ComputeStep& step,
                                  const std::vector<std::size_t>& outputs) {
  core::GraphBuilder builder(step.graph);
  std::vector<core::TensorId> wanted;
  ComputeStep part;
  for (const std::size_t k : outputs) {
    wanted.push_back(step.graph.outputs()[k]);
    part.outputs.push_back(step.outputs[k]);
  }
  builder.set_outputs(std::move(wanted));
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph needed, std::move(builder).finish());
  core::GraphBuilder own;
  std::vector<core::TensorId> operands;
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const core::TensorId input = needed.inputs()[k];
    const bool is_output = std::ranges::find(needed.outputs(), input) != needed.outputs().end();
    if (needed.consumers(input).empty() && !is_output) {
      operands.push_back(core::TensorId::none());
      continue;
    }
    operands.push_back(own.add_input(needed.tensor(input).name, needed.tensor(input).type));
    part.inputs.push_back(step.inputs[k]);
  }
  own.set_outputs(append_graph(own, needed, operands));
  SOAPSTONE_ASSIGN_OR_RETURN(part.graph, std::move(own).finish());
  return part;
}

}  // namespace

core::Result<std::vector<ComputeStep>> independent_parts(ComputeStep step) {
  Connected sets = connected_tensors(step.graph);
  std::map<std::size_t, std::vector<std::size_t>> outputs;  // of each set
  for (std::size_t k = 0; k < step.outputs.size(); ++k)
    outputs[sets.find(step.graph.outputs()[k].index())].push_back(k);
  std::vector<ComputeStep> parts;
  if (outputs.size() == 1) {
    parts.push_back(std::move(step));
    return parts;
  }
  for (const auto& [set, some] : outputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(ComputeStep part, part_of(step, some));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace soapstone::parallel
