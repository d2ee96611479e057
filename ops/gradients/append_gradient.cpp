// Decides which inputs a gradient reads by asking its meaning.
#include "ops/gradients/append_gradient.h"

#include <algorithm>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/gradients/gradient_attributes.h"
#include "ops/gradients/gradient_operator.h"
#include "ops/gradients/pruning.h"
#include "ops/gradients/renaming.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::TensorId;
using Sizes = std::vector<Polynomial>;

/// A gradient that only moves the elements of a cotangent: all of them, in another order.
struct MovedCotangent {
  std::size_t cotangent;
  std::optional<std::vector<std::size_t>> permutation;  ///< None: in row-major order.
};

/// By dimension of the result, that of the tensor which it indexes. None: some index is another.
std::optional<std::vector<std::size_t>> permutation_of(const Stage& stage, const ExprNode& read) {
  std::vector<std::size_t> permutation;
  for (const Symbol s : stage.index) {
    const auto at = std::ranges::find(read.index, Polynomial(s));
    if (at == read.index.end()) return std::nullopt;
    permutation.push_back(static_cast<std::size_t>(at - read.index.begin()));
  }
  return permutation;
}

/// Whether each element is read at the row-major position at which it stands in the result.
bool is_in_order(const Stage& stage, const ExprNode& read, const Shape& shape) {
  Substitution points;  // an index into a dimension of size 1 is 0
  for (std::size_t d = 0; d < stage.index.size(); ++d)
    if (stage.shape[d] == Polynomial(1)) points.emplace(stage.index[d], Polynomial(0));
  const Polynomial position =
      read.kind == ExprKind::kReadFlat ? read.index[0] : flat_position(shape, read.index);
  const Index own(stage.index.begin(), stage.index.end());
  return product(shape) == product(stage.shape) &&
         substituted(position - flat_position(stage.shape, own), points) == Polynomial(0);
}

std::optional<MovedCotangent> moved_cotangent(const Semantics& semantics,
                                              const gradients::Forward& forward) {
  const Stage& stage = semantics.stages.back();
  const ExprNode& body = *stage.body;
  const bool is_read = body.kind == ExprKind::kRead || body.kind == ExprKind::kReadFlat;
  if (semantics.stages.size() != 1 || !is_read) return std::nullopt;
  const std::size_t cotangent = body.tensor - forward.inputs.size();
  const Shape& shape = forward.outputs[cotangent].shape;
  if (is_in_order(stage, body, shape)) return MovedCotangent{cotangent, std::nullopt};
  auto permutation = permutation_of(stage, body);
  if (!permutation || shape.size() != stage.shape.size()) return std::nullopt;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (stage.shape[d] != shape[(*permutation)[d]]) return std::nullopt;
  return MovedCotangent{cotangent, std::move(permutation)};
}

/// The cotangent itself if it is as the result should be.
TensorId append_moved(core::GraphBuilder& builder, const MovedCotangent& moved, TensorId cotangent,
                      const Shape& shape) {
  const auto appended = [&](const char* op, const core::Attributes& attributes) {
    return append(builder, op, {cotangent}, attributes).value().front();
  };
  if (moved.permutation)
    return appended("transpose",
                    {{"perm", Sizes(moved.permutation->begin(), moved.permutation->end())}});
  if (builder.tensor(cotangent).type.shape == shape) return cotangent;
  return appended("reshape", {{"shape", shape}});
}

}  // namespace

TensorId append_gradient(core::GraphBuilder& builder, const core::Node& node, std::size_t input,
                         std::span<const TensorId> cotangents, const OperandFunction& operand) {
  const OpDefinition* op = definition_of(node);
  CHECK(op && cotangents.size() == node.outputs.size(), "no gradient of an opaque node");
  gradients::Forward forward;
  forward.input = input;
  for (const TensorId t : node.inputs)
    forward.inputs.push_back(t.valid() ? builder.tensor(t).type
                                       : TensorType{DataType::kOther, {}, false});
  DataType of_cotangents = DataType::kOther;
  for (std::size_t k = 0; k < cotangents.size(); ++k) {
    forward.outputs.push_back(builder.tensor(node.outputs[k]).type);
    forward.has_cotangent.push_back(cotangents[k].valid());
    if (cotangents[k].valid() && of_cotangents == DataType::kOther)
      of_cotangents = forward.outputs[k].data_type;
  }
  const Semantics semantics = gradients::semantics_of_gradient(*op, node.attributes, forward);
  std::vector<TensorId> inputs = node.inputs;
  inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
  if (const auto moved = moved_cotangent(semantics, forward))
    return append_moved(builder, *moved, cotangents[moved->cotangent], forward.inputs[input].shape);
  const std::set<std::uint32_t> read = inputs_read(semantics);
  if (read.empty()) return TensorId::none();
  for (std::uint32_t k = 0; k < inputs.size(); ++k) {
    if (!read.contains(k)) inputs[k] = TensorId::none();
    if (operand && k < node.inputs.size() && inputs[k].valid()) inputs[k] = operand(inputs[k]);
  }

  core::Attributes attributes = node.attributes;
  attributes.set(gradients::kInput, Polynomial(static_cast<std::int64_t>(input)));
  attributes.set(gradients::kShapes, gradients::written_shapes(forward.inputs));
  attributes.set(gradients::kTypes, gradients::written_types(forward.inputs, of_cotangents));
  const OpDefinition* gradient = registry().definition(gradient_name(op->name));
  CHECK(gradient, "an operator without a gradient: " + op->name);
  return builder.add_node(*gradient, std::move(attributes), std::move(inputs),
                          {forward.inputs[input]}, node.name.empty() ? "" : node.name + "/grad")[0];
}

}  // namespace soapstone::ops
