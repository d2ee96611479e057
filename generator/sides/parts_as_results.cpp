// See parts_as_results.h.
#include "generator/sides/parts_as_results.h"

#include <algorithm>
#include <optional>

#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::Graph;
using core::GraphBuilder;
using core::TensorId;

/// The node that makes the only result, if it is a concat of different results of operators.
const core::Node* last_concat(const Graph& side) {
  if (side.outputs().size() != 1) return nullptr;
  const core::NodeId id = side.tensor(side.outputs()[0]).producer;
  if (!id.valid() || side.node(id).op->movement != core::Movement::kJoin) return nullptr;
  const core::Node& node = side.node(id);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!side.tensor(node.inputs[k]).producer.valid()) return nullptr;
    for (std::size_t l = 0; l < k; ++l)
      if (node.inputs[l] == node.inputs[k]) return nullptr;
  }
  return &node;
}

std::optional<Sides> split_instead(const Graph& whole, const Graph& other) {
  const core::Node* concat = last_concat(whole);
  if (concat == nullptr || !other.tensor(other.outputs()[0]).producer.valid()) return std::nullopt;
  const std::vector<TensorId> parts = concat->inputs;
  const core::AttributeValue axis =
      *concat->attributes.find(concat->op->find_role(core::AttributeRole::kAxis)->name);
  const auto dimension = static_cast<std::size_t>(std::get<core::Polynomial>(axis).constant());
  std::vector<core::Polynomial> sizes;
  for (TensorId part : parts) sizes.push_back(whole.tensor(part).type.shape[dimension]);

  GraphBuilder source(whole);
  source.set_name(whole.outputs()[0], "");
  for (std::size_t k = 0; k < parts.size(); ++k) source.set_name(parts[k], "y" + std::to_string(k));
  source.set_outputs(parts);
  auto before = std::move(source).finish();

  GraphBuilder target(other);
  target.set_name(other.outputs()[0], "");
  auto split =
      ops::append(target, "split", {other.outputs()[0]}, {{"axis", axis}, {"sizes", sizes}});
  if (!before || !split) return std::nullopt;
  for (std::size_t k = 0; k < split->size(); ++k)
    target.set_name((*split)[k], "y" + std::to_string(k));
  target.set_outputs(*std::move(split));
  auto after = std::move(target).finish();
  if (!after) return std::nullopt;
  return Sides{*std::move(before), *std::move(after)};
}

}  // namespace

std::vector<Sides> parts_as_results(const Sides& sides) {
  std::vector<Sides> found;
  for (const auto& [whole, other] :
       {std::pair(&sides.source, &sides.target), std::pair(&sides.target, &sides.source)})
    if (auto split = split_instead(*whole, *other)) found.push_back(*std::move(split));
  return found;
}

}  // namespace soapstone::generator
