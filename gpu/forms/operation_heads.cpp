// See operation_heads.h.
#include "gpu/forms/operation_heads.h"

#include <algorithm>

#include "gpu/forms/head_parts.h"
#include "ops/definition/by_role.h"

namespace soapstone::gpu {

using core::AttributeRole;
using core::Node;
using core::OperandRole;

std::uint32_t OperationDraft::add(GraphTensor tensor) {
  result_.tensors.push_back(std::move(tensor));
  return static_cast<std::uint32_t>(result_.tensors.size() - 1);
}

std::uint32_t OperationDraft::add_tensor(core::TensorId id) {
  const core::TensorType& type = graph_.tensor(id).type;
  const core::Dims dims = runtime::dims_of(type);
  return add({id, type.data_type, dims, runtime::strides_of(dims, layout_of(id)), 0, {}, false});
}

std::uint32_t OperationDraft::add_number(double value, std::size_t rank) {
  return add({core::TensorId::none(), core::DataType::kFloat32, core::Dims(rank, 1),
              core::Dims(rank, 1), 0, value, false});
}

std::uint32_t OperationDraft::add_virtual(core::DataType type, core::Dims dims,
                                          core::Dims strides) {
  return add({core::TensorId::none(), type, std::move(dims), std::move(strides), 0, {}, false});
}

runtime::Layout OperationDraft::layout_of(core::TensorId id) const {
  const auto found = layouts_.find(id);
  return found == layouts_.end() ? runtime::Layout::kRowMajor : found->second;
}

core::Dims numbers_by_role(const Node& node, AttributeRole role) {
  core::Dims numbers;
  for (const core::Polynomial& size : ops::sizes_by_role(node, role))
    numbers.push_back(size.constant());
  return numbers;
}

bool has_roles(const Node& node, std::initializer_list<AttributeRole> roles) {
  return std::all_of(roles.begin(), roles.end(),
                     [&](AttributeRole role) { return node.op->find_role(role) != nullptr; });
}

bool flag_by_role(const Node& node, AttributeRole role) {
  const core::AttributeSchema* schema = node.op->find_role(role);
  return schema && node.attributes.get_int(schema->name) != 0;
}

core::Dims dims_of(const OperationDraft& draft, core::TensorId id) {
  return runtime::dims_of(draft.graph().tensor(id).type);
}

std::uint32_t add_virtual_like(OperationDraft& draft, std::uint32_t tensor) {
  const GraphTensor like = draft.result().tensors[tensor];
  return draft.add_virtual(like.data_type, like.dims, like.strides);
}

core::Result<std::uint32_t> append_head(OperationDraft& draft, core::NodeId id) {
  const Node& node = draft.graph().node(id);
  const ops::OpDefinition* definition = ops::definition_of(node);
  if (!definition) return core::unsupported("an operator without a meaning");
  if (is_convolution(node)) return append_convolution(draft, node);
  if (is_pool(node)) return append_pool(draft, node);
  if (is_norm(node, *definition)) return append_norm(draft, id);
  if (definition->op_class == ops::OpClass::kReduction) {
    if (node.op->find_role(AttributeRole::kAxes)) return append_reduction(draft, id);
    if (node.op->operand_role(0) == OperandRole::kImage && node.op->averages)
      return append_whole_pool(draft, node);
  }
  return core::unsupported("no convolution, pool, reduction or norm");
}

}  // namespace soapstone::gpu
