// See layouts.h.
#include "gpu/making/layouts.h"

#include <algorithm>

#include "ops/definition/registry.h"

namespace soapstone::gpu {
namespace {

using runtime::Layout;

std::size_t rank_of(const core::Graph& graph, core::TensorId id) {
  return graph.tensor(id).type.shape.size();
}

bool wants_channels_last(const core::TensorType& type, ImageLayout images) {
  if (images == ImageLayout::kByCost) return core::size_bytes(type.data_type) == 2;
  return images == ImageLayout::kChannelsLast;
}

/// Tensors of the result's rank and the results become channels-last; others stay.
void use_channels_last(const core::Graph& graph, const runtime::Launch& launch,
                       runtime::LaunchLayouts& wanted) {
  const std::size_t rank = rank_of(graph, launch.outputs[0]);
  for (std::size_t i = 0; i < launch.inputs.size(); ++i)
    if (rank_of(graph, launch.inputs[i]) == rank) wanted.inputs[i] = Layout::kChannelsLast;
  std::ranges::fill(wanted.outputs, Layout::kChannelsLast);
}

}  // namespace

void choose_layouts(const core::Graph& graph, const runtime::Launch& launch,
                    std::span<const Layout> stored, ImageLayout images,
                    runtime::LaunchLayouts& wanted) {
  constexpr std::size_t kImageRank = 4;
  const auto is_image = [&](core::TensorId id) { return rank_of(graph, id) >= kImageRank; };
  if (launch.outputs.empty() || images == ImageLayout::kRowMajor) return;
  const core::Node& head = graph.node(launch.head);
  const ops::OpDefinition* definition = ops::definition_of(head);
  if (!definition) return;
  if (definition->op_class == ops::OpClass::kContraction) {
    const bool is_convolution = head.op->operand_role(0) == core::OperandRole::kImage &&
                                is_image(launch.outputs[0]) && launch.outputs.size() == 1;
    if (is_convolution && wants_channels_last(graph.tensor(launch.outputs[0]).type, images))
      use_channels_last(graph, launch, wanted);
    return;
  }
  if (std::ranges::find(stored, Layout::kChannelsLast) == stored.end()) return;
  std::ranges::copy(stored, wanted.inputs.begin());
  const bool leaves_images =
      std::ranges::all_of(launch.outputs, [&](core::TensorId id) { return is_image(id); });
  if (leaves_images) std::ranges::fill(wanted.outputs, Layout::kChannelsLast);
}

}  // namespace soapstone::gpu
