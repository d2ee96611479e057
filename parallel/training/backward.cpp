// Reverse mode: when a node's turn comes, all that reads its results has had its own.
#include "parallel/training/backward.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/literal.h"
#include "ops/definition/registry.h"
#include "ops/gradients/append_gradient.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::parallel {
namespace {

using core::NodeId;
using core::Result;
using core::TensorId;

class Backward {
 public:
  Backward(core::GraphBuilder& builder, const Sensitivity& sensitivity,
           Recomputation& recomputation, GradientOrigins& origins)
      : builder_(builder), sensitivity_(sensitivity), recomputation_(recomputation),
        origins_(origins) {}

  core::Status run(std::span<const NodeId> nodes, TensorId loss) {
    const core::TensorType& type = builder_.tensor(loss).type;
    cotangents_[loss] = builder_.add_constant(
        std::make_shared<const core::Literal>(ops::filled_literal(type.data_type, {}, 1)));
    for (const NodeId id : nodes) origins_.emplace(id, NodeId::none());
    for (std::size_t k = nodes.size(); k-- > 0;) SOAPSTONE_RETURN_IF_ERROR(through(nodes[k]));
    return core::Done{};
  }

  std::map<TensorId, TensorId> leaves() const {
    std::map<TensorId, TensorId> found;
    for (const auto& [tensor, cotangent] : cotangents_)
      if (sensitivity_.contains(tensor) && !builder_.tensor(tensor).producer.valid())
        found.emplace(tensor, cotangent);
    return found;
  }

 private:
  core::Status through(NodeId id) {
    const core::Node node = builder_.node(id);
    std::vector<TensorId> cotangents;
    for (const TensorId output : node.outputs) {
      const auto found = cotangents_.find(output);
      cotangents.push_back(found == cotangents_.end() ? TensorId::none() : found->second);
    }
    const auto is_valid = [](TensorId t) { return t.valid(); };
    if (std::ranges::none_of(cotangents, is_valid)) return core::Done{};
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!sensitivity_.contains(node.inputs[k])) continue;
      SOAPSTONE_RETURN_IF_ERROR(check_has_derivative(node));
      const TensorId part = ops::append_gradient(
          builder_, node, k, cotangents, [&](TensorId t) { return recomputation_.operand(t); });
      if (part.valid()) SOAPSTONE_RETURN_IF_ERROR(add(node.inputs[k], part));
      if (part.valid()) mark(cotangents_.at(node.inputs[k]), id);
    }
    return core::Done{};
  }

  core::Status check_has_derivative(const core::Node& node) const {
    const auto name = [&] {
      return node.name.empty() ? builder_.tensor(node.outputs[0]).name : node.name;
    };
    if (ops::is_opaque(node))
      return core::unsupported(
          fmt::format("the loss depends on weights through '{}', an operator without a meaning "
                      "that we know, and so without a derivative",
                      name()),
          "freeze the weights before it, or train a model without it");
    for (const auto& list : {node.inputs, node.outputs})
      for (const TensorId t : list)
        if (t.valid() && !builder_.tensor(t).type.shape_known)
          return core::unsupported(
              fmt::format("a shape at '{}' is not known, so it has no derivative", name()));
    return core::Done{};
  }

  /// Nodes that a tensor is computed by, and that have no origin yet, belong to this one.
  void mark(TensorId tensor, NodeId origin) {
    const NodeId producer = builder_.tensor(tensor).producer;
    if (!producer.valid() || !origins_.emplace(producer, origin).second) return;
    for (const TensorId input : builder_.node(producer).inputs)
      if (input.valid()) mark(input, origin);
  }

  core::Status add(TensorId tensor, TensorId part) {
    const auto [at, is_first] = cotangents_.emplace(tensor, part);
    if (is_first) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(const auto sum, ops::append(builder_, "add", {at->second, part}));
    at->second = sum.front();
    return core::Done{};
  }

  core::GraphBuilder& builder_;
  const Sensitivity& sensitivity_;
  Recomputation& recomputation_;
  GradientOrigins& origins_;
  std::map<TensorId, TensorId> cotangents_;
};

}  // namespace

void Sensitivity::pass(const core::GraphBuilder& builder, const core::Node& node) {
  if (std::ranges::none_of(node.inputs, [&](TensorId t) { return contains(t); })) return;
  for (const TensorId output : node.outputs) {
    const core::TensorType& type = builder.tensor(output).type;
    if (core::is_floating(type.data_type) || ops::is_opaque(node)) add(output);
  }
}

Result<std::map<TensorId, TensorId>> append_backward(core::GraphBuilder& builder,
                                                     std::span<const NodeId> nodes, TensorId loss,
                                                     const Sensitivity& sensitivity,
                                                     Recomputation& recomputation,
                                                     GradientOrigins& origins) {
  Backward backward(builder, sensitivity, recomputation, origins);
  SOAPSTONE_RETURN_IF_ERROR(backward.run(nodes, loss));
  return backward.leaves();
}

}  // namespace soapstone::parallel
