#include "transforms/affine/masks.h"

#include <set>
#include <vector>

#include "ops/definition/registry.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostSeen = 256;

/// Whether elements of the results are computed of single elements.
bool keeps_elements(const Node& node) {
  const auto* const op = ops::definition_of(node);
  return op != nullptr &&
         (op->op_class == ops::OpClass::kElementwise || node.op->movement != Movement::kNone);
}

bool comes_from_outside(const Graph& graph, TensorId id) {
  std::vector<TensorId> open{id};
  std::set<TensorId> seen;
  while (!open.empty() && seen.size() < kMostSeen) {
    const TensorId at = open.back();
    open.pop_back();
    if (!at.valid() || graph.is_constant_expression(at) || !seen.insert(at).second) continue;
    const NodeId producer = graph.tensor(at).producer;
    if (!producer.valid()) return true;
    const Node& node = graph.node(producer);
    if (node.op->movement == Movement::kChoose) return true;
    if (keeps_elements(node)) open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return !open.empty();  // not all was looked at
}

bool gets_to_softmax(const Graph& graph, TensorId id) {
  std::vector<TensorId> open{id};
  std::set<TensorId> seen;
  while (!open.empty() && seen.size() < kMostSeen) {
    const TensorId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    for (const NodeId reader : graph.consumers(at)) {
      const Node& node = graph.node(reader);
      if (node.op->name == "softmax" || node.op->name == "log_softmax") return true;
      if (keeps_elements(node)) open.insert(open.end(), node.outputs.begin(), node.outputs.end());
    }
  }
  return !open.empty();  // not all was looked at
}

}  // namespace

bool is_mask(const Graph& graph, TensorId id) {
  return gets_to_softmax(graph, id) && comes_from_outside(graph, id);
}

}  // namespace soapstone::transforms
