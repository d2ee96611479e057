// A launch as several kernels: contractions by a library, and what stands between and behind them.
// See makers.h.
#include <algorithm>
#include <functional>
#include <set>

#include "gpu/device/kernel_pair.h"
#include "gpu/making/makers.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;
using runtime::generated::RegionStage;

using core::NodeId;
using core::TensorId;

bool is_contraction(const core::Graph& graph, NodeId node) {
  const auto region = make_region(graph, std::span(&node, 1), graph.node(node).outputs);
  return region && std::ranges::any_of(region->stages, &RegionStage::is_contraction);
}

/// The nodes of the request that lead to these tensors, and what they read from outside. `known` is
/// not computed but read.
KernelRequest part_of(const KernelRequest& whole, std::vector<TensorId> outputs, TensorId known) {
  std::set<NodeId> needed;
  std::vector<TensorId> open = outputs;
  std::vector<TensorId> inputs;
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    const NodeId producer = whole.graph.tensor(tensor).producer;
    const bool is_inside = tensor != known && producer.valid() &&
                           std::ranges::find(whole.nodes, producer) != whole.nodes.end();
    if (!is_inside) {
      if (std::ranges::find(inputs, tensor) == inputs.end()) inputs.push_back(tensor);
    } else if (needed.insert(producer).second) {
      for (const TensorId input : whole.graph.node(producer).inputs)
        if (input.valid()) open.push_back(input);
    }
  }
  KernelRequest part{whole.graph,    {}, std::move(inputs), std::move(outputs), whole.layouts,
                     whole.constants};
  std::ranges::copy_if(whole.nodes, std::back_inserter(part.nodes),
                       [&](NodeId node) { return needed.contains(node); });
  return part;
}

std::vector<std::optional<std::size_t>> positions_of(const std::vector<TensorId>& inputs,
                                                     const KernelRequest& whole) {
  std::vector<std::optional<std::size_t>> positions;
  for (const TensorId id : inputs) {
    const auto at = std::ranges::find(whole.inputs, id);
    positions.push_back(at == whole.inputs.end()
                            ? std::nullopt
                            : std::optional(static_cast<std::size_t>(at - whole.inputs.begin())));
  }
  return positions;
}

using Made = core::Result<std::unique_ptr<GpuKernel>>;
using Maker = std::function<Made(const KernelRequest&)>;

/// What leads to `between`, and the rest, as one kernel after the other.
Made make_split(const KernelRequest& request, TensorId between, const Maker& make_first,
                const Maker& make_second) {
  KernelRequest first = part_of(request, {between}, TensorId::none());
  KernelRequest second = part_of(request, request.outputs, between);
  const core::TensorType& type = request.graph.tensor(between).type;
  // What lies between is an image where the result is one, and lies as that does.
  if (const auto layout = request.layouts.find(request.outputs[0]);
      layout != request.layouts.end() &&
      type.shape.size() == request.graph.tensor(layout->first).type.shape.size())
    first.layouts[between] = second.layouts[between] = layout->second;
  SOAPSTONE_ASSIGN_OR_RETURN(auto before, make_first(first));
  SOAPSTONE_ASSIGN_OR_RETURN(auto behind, make_second(second));
  return make_pair_of_kernels({std::move(before), positions_of(first.inputs, request)},
                              {std::move(behind), positions_of(second.inputs, request)},
                              runtime::storage_bytes(type), std::string(kInParts));
}

std::vector<NodeId>::const_iterator find_contraction(const KernelRequest& request) {
  return std::ranges::find_if(request.nodes,
                              [&](NodeId node) { return is_contraction(request.graph, node); });
}

/// The operand of a contraction that takes more than moving elements to compute, if there is one.
std::optional<TensorId> computed_operand(const KernelRequest& request, NodeId contraction) {
  for (const TensorId operand : request.graph.node(contraction).inputs) {
    const KernelRequest part = part_of(request, {operand}, TensorId::none());
    if (std::ranges::any_of(part.nodes, [&](NodeId node) {
          return request.graph.node(node).op->movement == core::Movement::kNone;
        }))
      return operand;
  }
  return std::nullopt;
}

}  // namespace

core::Result<std::unique_ptr<GpuKernel>> make_in_parts(const MakerContext& context,
                                                       const KernelRequest& request) {
  const auto head = find_contraction(request);
  if (head == request.nodes.end() || *head == request.nodes.back())
    return core::unsupported("no contraction with something behind it");
  const Maker by_library = [&](const KernelRequest& part) {
    auto product = make_with_cublaslt(context, part, 0);
    return product ? std::move(product) : make_with_cudnn(context, part, 0);
  };
  const Maker generated = [&](const KernelRequest& part) {
    return make_generated(context, part, {});
  };
  const Maker rest = [&](const KernelRequest& part) -> Made {
    const auto next = find_contraction(part);
    if (next == part.nodes.end()) return generated(part);
    const auto operand = computed_operand(part, *next);
    return operand ? make_split(part, *operand, generated, by_library) : by_library(part);
  };
  return make_split(request, request.graph.node(*head).outputs[0], by_library, rest);
}

}  // namespace soapstone::gpu
