// Nodes are found by a hash of operator, inputs and attributes, and compared in full.
#include "ops/lowering/shared_nodes.h"

#include "core/base/hash.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {

using core::TensorId;

SharedNodes::SharedNodes(core::GraphBuilder& builder, const core::Graph& graph)
    : builder_(builder) {
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (!is_opaque(node) && node.outputs.size() == 1)
      nodes_.emplace(key_of(*node.op, node.inputs, node.attributes), id);
  }
}

std::uint64_t SharedNodes::key_of(const core::OpSchema& op, const std::vector<TensorId>& inputs,
                                  const core::Attributes& attributes) const {
  std::uint64_t key = core::hash_combine(op.hash(), attributes.hash());
  for (const TensorId t : inputs) key = core::hash_combine(key, t.value);
  return key;
}

TensorId SharedNodes::append(std::string_view op, std::vector<TensorId> inputs,
                             const core::Attributes& attributes) {
  if (error_) return TensorId::none();
  const OpDefinition* definition = registry().definition(op);
  CHECK(definition, "no such operator");
  auto complete = complete_attributes(*definition, attributes);
  if (!complete) {
    fail(complete.error());
    return TensorId::none();
  }
  const std::uint64_t key = key_of(*definition, inputs, *complete);
  const auto [begin, end] = nodes_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    const core::Node& node = builder_.node(it->second);
    if (node.op == definition && node.inputs == inputs && node.attributes == *complete)
      return node.outputs[0];
  }
  auto results = ops::append(builder_, op, std::move(inputs), *complete);
  if (!results) {
    fail(results.error());
    return TensorId::none();
  }
  nodes_.emplace(key, builder_.tensor(results->front()).producer);
  return results->front();
}

TensorId SharedNodes::constant(core::Literal value) {
  const auto [begin, end] = constants_.equal_range(value.hash());
  for (auto it = begin; it != end; ++it)
    if (*builder_.tensor(it->second).value == value) return it->second;
  const std::uint64_t hash = value.hash();
  const TensorId id =
      builder_.add_constant(std::make_shared<const core::Literal>(std::move(value)));
  constants_.emplace(hash, id);
  return id;
}

core::Dims SharedNodes::dims(TensorId id) const {
  const auto dims = core::concrete(builder_.tensor(id).type.shape);
  CHECK(dims, "a size is a symbol");
  return *dims;
}

void SharedNodes::fail(core::Error error) {
  if (!error_) error_ = std::move(error);
}

}  // namespace soapstone::ops
