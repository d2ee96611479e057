// See layouts.h. Measured with oneDNN 2.6.3 on one AVX-512 core: of 3×3 convolutions of ResNet and
// Inception, channels-last reaches 214–257 GFLOP/s, blocks of 16 channels 198–228, row-major
// 108–163; 1×1 are equal but for row-major. Joins and cuts along channels would be free in blocks
// and are copies here, which costs less than the difference.
#include "cpu/layouts.h"

#include <algorithm>

#include "cpu/base/kernel_request.h"
#include "ops/definition/registry.h"
#include "ops/gradients/gradient_operator.h"

namespace soapstone::cpu {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;
using runtime::LaunchLayouts;
using runtime::Layout;

std::size_t rank(const Graph& graph, TensorId tensor) {
  return graph.tensor(tensor).type.shape.size();
}

/// Inputs of the result's rank, and the results, become channels-last; others (biases) stay.
void use_channels_last(const Graph& graph, const runtime::Launch& launch, LaunchLayouts& wanted) {
  const std::size_t result_rank = rank(graph, launch.outputs[0]);
  for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
    if (rank(graph, launch.inputs[i]) == result_rank) wanted.inputs[i] = Layout::kChannelsLast;
  }
  std::ranges::fill(wanted.outputs, Layout::kChannelsLast);
}

/// Generated loops read what is stored, and leave images as they found them.
void follow_stored(const Graph& graph, const runtime::Launch& launch,
                   std::span<const Layout> stored, LaunchLayouts& wanted) {
  constexpr std::size_t kImageRank = 4;
  std::ranges::copy(stored, wanted.inputs.begin());
  for (std::size_t k = 0; k < launch.outputs.size(); ++k)
    if (rank(graph, launch.outputs[k]) >= kImageRank) wanted.outputs[k] = Layout::kChannelsLast;
}

void set_input(const runtime::Launch& launch, TensorId tensor, Layout layout,
               LaunchLayouts& wanted) {
  for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
    if (launch.inputs[i] == tensor) wanted.inputs[i] = layout;
  }
}

/// Images lie as the forward pass has them; filters, tables and their cotangents stay.
void choose_for_gradient(const Graph& graph, const runtime::Launch& launch, LaunchLayouts& wanted) {
  const Node& head = graph.node(launch.head);
  if (head.op->name == ops::gradient_name("gather")) return;
  use_channels_last(graph, launch, wanted);
  if (head.op->name != ops::gradient_name("conv")) return;
  if (ops::gradient_of(graph, launch.head)->input == 1)
    std::ranges::fill(wanted.outputs, Layout::kRowMajor);
  else
    set_input(launch, head.inputs[1], Layout::kRowMajor, wanted);
}

/// A reduction to a vector, which has no order of dimensions to keep.
bool leaves_vector(const Graph& graph, const Node& node) {
  return node.op->name.starts_with("reduce_") && node.op->name != "reduce_log_sum_exp" &&
         graph.tensor(node.outputs[0]).type.shape.size() <= 1;
}

/// A reduction keeps the order in memory of the dimensions that stay.
bool keeps_order(const Node& node) {
  if (node.op->name == "global_average_pool") return true;
  return node.attributes.find("keep_dims") && node.attributes.get_int("keep_dims") != 0;
}

bool follows_inputs(const Node& node, ops::OpClass op_class) {
  const std::string& op = node.op->name;
  switch (op_class) {
  case ops::OpClass::kElementwise:
    return true;
  case ops::OpClass::kReduction:
    if (op == "nll_loss" || op == "reduce_log_sum_exp") return false;  // kernels of their own
    return op.ends_with("_pool") || keeps_order(node);
  case ops::OpClass::kNormalization:
    return op == "batch_norm";
  case ops::OpClass::kMovement:
    return op == "concat" || op == "split" || op == "slice" || op == "pad";
  default:
    return false;
  }
}

}  // namespace

void choose_layouts(const Graph& graph, const runtime::Launch& launch,
                    std::span<const Layout> stored, LaunchLayouts& wanted) {
  const Node& head = graph.node(launch.head);
  const ops::OpDefinition* definition = ops::definition_of(head);
  if (!definition || launch.outputs.empty()) return;
  if (head.op->name == "conv") {
    if (graph.tensor(launch.outputs[0]).type.data_type != core::DataType::kFloat32) return;
    use_channels_last(graph, launch, wanted);
    set_input(launch, head.inputs[1], Layout::kRowMajor, wanted);  // weights: as the kernel packs
    return;
  }
  if (is_whole_gradient(head)) return choose_for_gradient(graph, launch, wanted);
  if (std::ranges::find(stored, Layout::kChannelsLast) == stored.end()) return;
  if (!launch.others.empty()) return follow_stored(graph, launch, stored, wanted);
  if (follows_inputs(head, definition->op_class)) return use_channels_last(graph, launch, wanted);
  if (leaves_vector(graph, head) && launch.epilogue.empty()) {
    wanted.inputs[0] = stored[0];
    return;
  }
  // A transpose copies in any case, from one layout as well as from another.
  if (head.op->name == "transpose") wanted.inputs[0] = Layout::kChannelsLast;
}

}  // namespace soapstone::cpu
