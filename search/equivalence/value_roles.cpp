// See value_roles.h. From each input on, what reads it is followed.
#include "search/equivalence/value_roles.h"

#include <algorithm>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/definition/valid_values.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// The operator normalizes its one operand: softmax and its like.
bool is_softmax(const Node& node) {
  const ops::OpDefinition* definition = ops::definition_of(node);
  return definition != nullptr && definition->op_class == ops::OpClass::kNormalization &&
         definition->max_inputs == 1;
}

bool is_integer(const Graph& graph, TensorId id) {
  const core::DataType type = graph.tensor(id).type.data_type;
  return !core::is_floating(type) && type != core::DataType::kBool;
}

class Follower {
 public:
  explicit Follower(const Graph& graph) : graph_(graph) {}

  ValueRole role_of(TensorId input) {
    role_ = {};
    if (core::is_floating(graph_.tensor(input).type.data_type)) {
      follow_reals(input);
    } else {
      follow_integers(input);
    }
    return role_;
  }

 private:
  struct At {
    TensorId tensor;
    bool scaled = false, added = false;
    auto key() const { return 4 * tensor.index() + 2 * std::size_t{scaled} + std::size_t{added}; }
  };

  void note_selector(const Node& node) {
    const auto dims = core::concrete(graph_.tensor(node.inputs[0]).type.shape);
    if (!dims) return;
    const std::int64_t size = (*dims)[ops::axis_by_role(node)];
    role_.index_bound = role_.index_bound == 0 ? size : std::min(role_.index_bound, size);
  }

  /// Integers are divided by nodes that are opaque here.
  void note_opaque(const Node& node, const At& at) {
    role_.is_opaque = true;
    const std::string& op = node.attributes.get_text("op_type");
    if ((op == "Div" || op == "Mod") && node.inputs.size() > 1 && node.inputs[1] == at.tensor)
      role_.is_divisor = true;
  }

  void follow_integers(TensorId input) {
    std::vector<bool> seen(graph_.tensor_bound());
    std::vector<At> todo{{input}};
    while (!todo.empty()) {
      const At at = todo.back();
      todo.pop_back();
      if (seen[at.tensor.index()]) continue;
      seen[at.tensor.index()] = true;
      for (const NodeId id : graph_.consumers(at.tensor)) {
        const Node& node = graph_.node(id);
        if (ops::is_opaque(node)) {
          note_opaque(node, at);
          continue;
        }
        const bool selects = node.op->movement == core::Movement::kSelect;
        if (selects && node.inputs[1] == at.tensor) note_selector(node);
        if (!is_integer(graph_, node.outputs[0])) continue;
        if (selects && node.inputs[0] != at.tensor) continue;
        for (const TensorId output : node.outputs) todo.push_back({output});
      }
    }
  }

  /// From a mask over copies, factors and sums to a softmax.
  void follow_reals(TensorId input) {
    std::vector<bool> seen(4 * graph_.tensor_bound());
    std::vector<At> todo{{input}};
    while (!todo.empty()) {
      const At at = todo.back();
      todo.pop_back();
      if (seen[at.key()]) continue;
      seen[at.key()] = true;
      for (const NodeId id : graph_.consumers(at.tensor)) follow_real(graph_.node(id), at, todo);
    }
  }

  void follow_real(const Node& node, At at, std::vector<At>& todo) {
    if (ops::is_opaque(node)) return;
    if (is_softmax(node) && at.added) (at.scaled ? role_.is_scaled_mask : role_.is_mask) = true;
    const bool by_constant = std::ranges::any_of(
        node.inputs, [&](TensorId id) { return id.valid() && graph_.is_constant_expression(id); });
    const ops::Arithmetic operation = ops::arithmetic_of(*node.op);
    const bool scales = operation == ops::Arithmetic::kProduct ||
                        operation == ops::Arithmetic::kDifference;  // 1 − mask
    if (scales && by_constant) {
      at.scaled = true;
    } else if (operation == ops::Arithmetic::kSum) {
      at.added = at.added || !by_constant;
    } else if (!copies_elements(node)) {
      return;
    }
    for (const TensorId output : node.outputs)
      if (core::is_floating(graph_.tensor(output).type.data_type))
        todo.push_back({output, at.scaled, at.added});
  }

  const Graph& graph_;
  ValueRole role_;
};

}  // namespace

bool copies_elements(const Node& node) {
  switch (node.op->movement) {
  case core::Movement::kNone:
  case core::Movement::kChoose:
  case core::Movement::kOther:
    return false;
  default:
    return true;
  }
}

std::vector<ValueRole> value_roles(const Graph& graph) {
  Follower follower(graph);
  std::vector<ValueRole> roles;
  const auto valid = ops::valid_values(graph);
  for (const TensorId input : graph.inputs()) {
    ValueRole role = follower.role_of(input);
    // If operators require a range of values that reach them through copies alone, the input has
    // that range.
    if (const auto& range = valid[input.index()]; range && range->low < range->high) {
      role.index_bound = range->high;
      role.least_index = range->low;
    }
    roles.push_back(role);
  }
  return roles;
}

}  // namespace soapstone::search
