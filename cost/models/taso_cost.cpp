// See taso_cost.h.
#include "cost/models/taso_cost.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cost/models/roofline.h"
#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"

namespace soapstone::cost {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::Shape;
using core::TensorId;

constexpr RooflineParameters kDevice;
constexpr double kElementBytes = 4;

double size_of(const core::Size& size) {
  return static_cast<double>(size.as_constant().value_or(1));
}

double volume(const Shape& shape) {
  double elements = 1;
  for (const core::Size& size : shape) elements *= size_of(size);
  return elements;
}

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensor(id).type.shape; }

bool is_convolution(const Node& node) { return node.op->name == "conv"; }

/// [C, 1, 1] or [1, C, 1, 1], added to an image of C channels.
bool is_channel_vector(const Shape& operand, const Shape& image) {
  if (image.size() != 4 || operand.size() < 3 || operand.size() > 4) return false;
  const std::size_t channels = operand.size() - 3;
  for (std::size_t k = 0; k < operand.size(); ++k) {
    if (operand[k] != (k == channels ? image[1] : core::Size(1))) return false;
  }
  return true;
}

/// Computed by a convolution, or a part of what one computes.
bool is_from_convolution(const Graph& graph, TensorId id) {
  for (;;) {
    const NodeId producer = graph.tensor(id).producer;
    if (!producer.valid()) return false;
    const Node& node = graph.node(producer);
    if (is_convolution(node)) return true;
    if (node.op->name != "split") return false;
    id = node.inputs[0];
  }
}

bool is_bias(const Graph& graph, const Node& node) {
  if (node.op->name != "add") return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const TensorId operand = node.inputs[k], image = node.inputs[1 - k];
    if (graph.is_constant_expression(operand) &&
        is_channel_vector(shape_of(graph, operand), shape_of(graph, image)) &&
        is_from_convolution(graph, image))
      return true;
  }
  return false;
}

bool is_fused_relu(const Graph& graph, const Node& node) {
  if (node.op->name != "relu") return false;
  const TensorId input = node.inputs[0];
  const NodeId producer = graph.tensor(input).producer;
  if (!producer.valid() || graph.is_output(input) || graph.consumers(input).size() != 1)
    return false;
  const Node& conv = graph.node(producer);
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2].valid();
  return is_convolution(conv) && !has_bias;
}

bool is_free(const Graph& graph, NodeId id) {
  constexpr std::array<std::string_view, 4> kMoves = {"reshape", "transpose", "split", "cast"};
  const Node& node = graph.node(id);
  return graph.is_constant_expression(id) ||
         std::ranges::find(kMoves, node.op->name) != kMoves.end() || is_fused_relu(graph, node) ||
         is_bias(graph, node);
}

double window(const Node& node) {
  double elements = 1;
  for (const std::int64_t size : node.attributes.get_ints("kernel"))
    elements *= static_cast<double>(size);
  return elements;
}

double flops_of(const Graph& graph, const Node& node) {
  const std::string& op = node.op->name;
  const double results = volume(shape_of(graph, node.outputs[0]));
  if (node.inputs.empty()) return results;
  const Shape& first = shape_of(graph, node.inputs[0]);
  if (first.empty()) return results;
  if (is_convolution(node)) {
    const Shape& weight = shape_of(graph, node.inputs[1]);
    if (weight.empty()) return results;
    return 2 * results * volume(weight) / size_of(weight[0]);
  }
  // TASO has no einsum; a product is one, however it is written.
  if (op == "einsum") return ops::work_of(graph, graph.tensor(node.outputs[0]).producer).flops;
  if (op == "matmul") return 2 * results * size_of(first.back());
  if (op == "max_pool" || op == "average_pool") return results * window(node);
  if (op == "global_average_pool" || op == "global_max_pool") return volume(first);
  return results;
}

double cost_us(const Graph& graph, const Node& node) {
  double elements = 0;
  for (const TensorId output : node.outputs) elements += volume(shape_of(graph, output));
  const std::size_t counted = is_convolution(node) ? 2 : node.inputs.size();
  for (std::size_t k = 0; k < std::min(counted, node.inputs.size()); ++k)
    if (node.inputs[k].valid()) elements += volume(shape_of(graph, node.inputs[k]));
  return roofline_us({flops_of(graph, node), kElementBytes * elements}, kDevice);
}

class TasoCost final : public CostModel {
 public:
  GraphCost graph_cost(const Graph& graph) override {
    GraphCost total;
    for (const NodeId id : graph.order()) {
      if (is_free(graph, id)) continue;
      total.total_us += cost_us(graph, graph.node(id));
      ++total.launches;
    }
    total.estimated_us = total.total_us;
    return total;
  }

  std::vector<Item> breakdown(const Graph& graph) override {
    std::vector<Item> items;
    for (const NodeId id : graph.order()) {
      if (is_free(graph, id)) continue;
      const Node& node = graph.node(id);
      items.push_back({node.op->name, {cost_us(graph, node), 0, true}, "sum of operators"});
    }
    return items;
  }

  bool is_monotone() const override { return true; }

  std::string description() const override { return "TASO's sum over operators"; }
};

}  // namespace

std::unique_ptr<CostModel> make_taso_cost() { return std::make_unique<TasoCost>(); }

}  // namespace soapstone::cost
