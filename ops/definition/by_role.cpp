// See by_role.h.
#include "ops/definition/by_role.h"

#include <algorithm>

#include "core/base/check.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

const std::string& name_by_role(const core::Node& node, core::AttributeRole role) {
  const core::AttributeSchema* schema = node.op->find_role(role);
  CHECK(schema, node.op->name + " has no attribute with the role");
  return schema->name;
}

/// Precondition: there is one without operands.
const OpDefinition& operator_with(core::Movement movement) {
  const auto all = registry().all();
  const auto found = std::ranges::find(all, movement, [](const auto& op) { return op->movement; });
  CHECK(found != all.end(), "no operator makes such constants");
  return **found;
}

core::Result<core::TensorId> append_constant(core::GraphBuilder& builder, const OpDefinition& op,
                                             const core::Attributes& attributes) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto results, append(builder, op.name, {}, attributes));
  return results[0];
}

}  // namespace

const std::vector<core::Polynomial>& sizes_by_role(const core::Node& node,
                                                   core::AttributeRole role) {
  return node.attributes.get_sizes(name_by_role(node, role));
}

core::Dims ints_by_role(const core::Node& node, core::AttributeRole role) {
  return node.attributes.get_ints(node.op->find_role(role)->name);
}

core::Node with_ints(core::Node node, core::AttributeRole role, const core::Dims& values) {
  node.attributes.set(node.op->find_role(role)->name, core::to_shape(values));
  return node;
}

bool is_convolution(const core::Node& node) {
  return node.op->has_operand(core::OperandRole::kKernel) &&
         node.op->find_role(core::AttributeRole::kGap) == nullptr &&
         node.op->operand_role(0) == core::OperandRole::kImage;
}

std::size_t axis_by_role(const core::Node& node) {
  const std::string& name = name_by_role(node, core::AttributeRole::kAxis);
  return static_cast<std::size_t>(node.attributes.get_int(name));
}

double fill_value(const core::Node& node) {
  return node.attributes.get_real(name_by_role(node, core::AttributeRole::kReal));
}

std::optional<double> number_of(const core::Graph& graph, core::TensorId id) {
  const core::Tensor& tensor = graph.tensor(id);
  if (tensor.type.data_type != core::DataType::kFloat32) return std::nullopt;
  if (tensor.value && tensor.value->count() == 1) return tensor.value->to_doubles()[0];
  const bool is_fill =
      tensor.producer.valid() && graph.node(tensor.producer).op->movement == Movement::kFill;
  return is_fill ? std::optional(fill_value(graph.node(tensor.producer))) : std::nullopt;
}

bool stands_for_weights(const core::Graph& graph, const core::Node& node) {
  if (node.op->movement != Movement::kFill) return false;
  const auto dims = core::concrete(graph.tensor(node.outputs[0]).type.shape);
  const double value = fill_value(node);
  return dims && core::element_count(*dims) > 1 && value != 0 && value != 1;
}

core::Result<core::TensorId> append_filled(core::GraphBuilder& builder, const core::Shape& shape,
                                           double value) {
  const OpDefinition& op = operator_with(Movement::kFill);
  return append_constant(builder, op,
                         {{op.find_role(core::AttributeRole::kShape)->name, shape},
                          {op.find_role(core::AttributeRole::kReal)->name, value}});
}

core::Result<core::TensorId> append_product(core::GraphBuilder& builder, core::TensorId a,
                                            core::TensorId b) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto product, append(builder, "mul", {a, b}));
  return product[0];
}

core::Result<core::TensorId> append_diagonal(core::GraphBuilder& builder,
                                             const core::Shape& shape) {
  const OpDefinition& op = operator_with(Movement::kDiagonal);
  return append_constant(builder, op, {{op.find_role(core::AttributeRole::kShape)->name, shape}});
}

}  // namespace soapstone::ops
