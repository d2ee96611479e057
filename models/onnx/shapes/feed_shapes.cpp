// Finds the computations that are worth folding because shapes, axes and sizes come out of them.
#include <algorithm>
#include <unordered_set>

#include "models/onnx/shapes/fold.h"

namespace soapstone::models {
namespace {

/// Whether input k of the operator says how large or where something is.
bool is_parameter(const onnx::NodeProto& node, int k) {
  if (!node.domain().empty()) return false;
  const std::string& type = node.op_type();
  static constexpr std::string_view kFromFirst[] = {"ConstantOfShape", "Range"};
  static constexpr std::string_view kFromSecond[] = {
      "Reshape",   "Expand",          "Tile",         "Slice",           "Pad",        "Unsqueeze",
      "Squeeze",   "Split",           "Resize",       "Upsample",        "TopK",       "OneHot",
      "ReduceSum", "ReduceMean",      "ReduceMax",    "ReduceMin",       "ReduceProd", "ReduceL1",
      "ReduceL2",  "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "Clip",       "CumSum",
      "Trilu",     "Dropout"};
  const auto lists = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), type) != std::end(names);
  };
  return lists(kFromFirst) || (k >= 1 && lists(kFromSecond));
}

}  // namespace

std::unordered_set<std::string> shape_parameters(const onnx::GraphProto& graph,
                                                 std::span<const int> order) {
  std::unordered_set<std::string> parameters;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const onnx::NodeProto& node = graph.node(*at);
    const bool needed = std::any_of(node.output().begin(), node.output().end(),
                                    [&](const auto& name) { return parameters.contains(name); });
    for (int k = 0; k < node.input_size(); ++k) {
      if (is_parameter(node, k) || (needed && has_fold(node))) parameters.insert(node.input(k));
    }
  }
  return parameters;
}

std::vector<bool> feed_shapes(const onnx::GraphProto& graph, std::span<const int> order) {
  const auto parameters = shape_parameters(graph, order);
  std::vector<bool> feeds(static_cast<std::size_t>(graph.node_size()));
  for (const int index : order) {
    const auto& outputs = graph.node(index).output();
    feeds[static_cast<std::size_t>(index)] =
        std::any_of(outputs.begin(), outputs.end(),
                    [&](const auto& name) { return parameters.contains(name); });
  }
  return feeds;
}

}  // namespace soapstone::models
