// See kernel_pricing.h.
#include "jobs/kernels/kernel_pricing.h"

#include <algorithm>

namespace soapstone::jobs {

using core::Graph;
using core::NodeId;
using core::TensorId;

namespace {

/// The conversions between kernels that want different forms of a tensor, each once.
void add_conversions(const Graph& graph, const KernelCosts& known, Pricing& pricing) {
  std::vector<const KernelCost*> writer(graph.node_bound());
  std::vector<std::size_t> number(graph.node_bound());
  for (std::size_t k = 0; k < pricing.kernels.size(); ++k) {
    for (const NodeId id : pricing.kernels[k].nodes) {
      writer[id.index()] = pricing.costs[k];
      number[id.index()] = k;
    }
  }
  std::vector<bool> converted(graph.tensor_bound());
  for (std::size_t k = 0; k < pricing.kernels.size(); ++k) {
    for (const NodeId id : pricing.kernels[k].nodes) {
      for (const TensorId input : graph.node(id).inputs) {
        if (!input.valid() || converted[input.index()]) continue;
        const NodeId producer = graph.tensor(input).producer;
        if (!producer.valid() || writer[producer.index()] == nullptr) continue;
        const KernelCost &from = *writer[producer.index()], &to = *pricing.costs[k];
        if (number[producer.index()] == k || from.writes_private == to.reads_private) continue;
        const auto& seen = from.writes_private ? from.leave_us : to.enter_us;
        pricing.conversions.push_back(
            {input, seen ? *seen : known.conversion_us(tensor_bytes(graph, input))});
        converted[input.index()] = true;
      }
    }
  }
}

}  // namespace

Pricing price_kernels(const Graph& graph, const KernelCosts& known) {
  Pricing pricing;
  pricing.kernels = known.fusions().cover(graph);
  for (const KernelNodes& kernel : pricing.kernels) {
    pricing.costs.push_back(known.find(kernel.signature));
    pricing.is_complete = pricing.is_complete && pricing.costs.back() != nullptr;
  }
  if (pricing.is_complete) add_conversions(graph, known, pricing);
  return pricing;
}

runtime::Launch as_launch(const Graph& graph, std::span<const NodeId> nodes) {
  runtime::Launch launch;
  launch.head = nodes.front();
  for (const NodeId id : nodes.subspan(1))
    launch.epilogue.push_back({runtime::EpilogueKind::kActivation, id, TensorId::none()});
  for (const NodeId id : nodes) {
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid()) continue;
      const NodeId producer = graph.tensor(input).producer;
      if (producer.valid() && std::ranges::find(nodes, producer) != nodes.end()) continue;
      if (std::ranges::find(launch.inputs, input) == launch.inputs.end())
        launch.inputs.push_back(input);
    }
  }
  launch.outputs = graph.node(nodes.back()).outputs;
  return launch;
}

}  // namespace soapstone::jobs
