#include "parallel/work/attention.h"

#include <algorithm>

namespace soapstone::parallel {
namespace {

/// The one node that reads the tensor, if there is one.
std::optional<core::NodeId> only_reader(const core::Graph& graph, core::TensorId id) {
  const auto readers = graph.consumers(id);
  if (readers.size() != 1 || graph.is_output(id)) return std::nullopt;
  return readers.front();
}

/// Whether it is a weight or a constant, or a view of one: a table that is also the last layer is
/// read transposed there.
bool is_parameter(const core::Graph& graph, core::TensorId id, const StepWork& work) {
  while (!work.tensors[id.index()].is_weight && !graph.is_constant_expression(id)) {
    const core::NodeId producer = graph.tensor(id).producer;
    if (!producer.valid() || !work.nodes[producer.index()].is_free) return false;
    id = graph.node(producer).inputs[0];
  }
  return true;
}

bool contracts_data(const core::Graph& graph, core::NodeId id, const StepWork& work) {
  return work.nodes[id.index()].is_contraction &&
         std::ranges::none_of(graph.node(id).inputs, [&](core::TensorId input) {
           return input.valid() && is_parameter(graph, input, work);
         });
}

}  // namespace

bool contracts_weight(const core::Graph& graph, core::NodeId id, const StepWork& work) {
  return work.nodes[id.index()].is_contraction && !contracts_data(graph, id, work);
}

std::optional<std::vector<core::TensorId>> scores_behind(const core::Graph& graph, core::NodeId id,
                                                         const StepWork& work) {
  if (!contracts_data(graph, id, work)) return std::nullopt;
  std::vector<core::TensorId> between{graph.node(id).outputs[0]};
  for (;;) {
    const std::optional<core::NodeId> next = only_reader(graph, between.back());
    if (!next) return std::nullopt;
    if (work.nodes[next->index()].is_contraction) {
      if (!contracts_data(graph, *next, work)) return std::nullopt;
      return between;
    }
    if (graph.node(*next).outputs.size() != 1) return std::nullopt;
    between.push_back(graph.node(*next).outputs[0]);
  }
}

std::optional<std::vector<core::TensorId>> attention_behind(const core::Graph& graph,
                                                            core::NodeId id, const StepWork& work) {
  auto between = scores_behind(graph, id, work);
  if (!between) return std::nullopt;
  double read = 0;
  for (const core::TensorId input : graph.node(id).inputs)
    if (input.valid()) read += work.tensors[input.index()].bytes;
  if (work.tensors[between->front().index()].bytes <= read) return std::nullopt;
  return between;
}

}  // namespace soapstone::parallel
