// See fusion.h.
#include "cpu/fusion.h"

#include <algorithm>
#include <array>

#include "cpu/base/kernel_request.h"
#include "cpu/primitives/epilogue.h"

namespace soapstone::cpu {

bool CpuFusion::can_append(const core::Graph& graph, const runtime::Launch& so_far,
                           const runtime::EpilogueStep& step) const {
  const core::Node& node = graph.node(step.node);
  if (graph.tensor(node.outputs[0]).type.data_type != core::DataType::kFloat32) return false;
  if (is_whole_gradient(graph.node(so_far.head))) return false;
  if (!EpilogueRules::can_append(graph, so_far, step)) return false;
  if (may_mistake_channels(graph, so_far, step)) return false;
  return std::ranges::all_of(so_far.epilogue, [&](const runtime::EpilogueStep& before) {
    return may_share_epilogue(graph, before, step);
  });
}

std::optional<runtime::Fusion> CpuFusion::level_of(const core::Node& function) const {
  return epilogue_level(function.op->name);
}

bool CpuFusion::can_gate(const core::Node&, const core::Node& function) const {
  return has_gate(function);
}

bool CpuFusion::is_binary_head(const core::Node& head) const {
  static constexpr std::array<std::string_view, 6> kHeads = {"add", "sub", "mul",
                                                             "div", "min", "max"};
  return std::ranges::find(kHeads, head.op->name) != kHeads.end();
}

}  // namespace soapstone::cpu
