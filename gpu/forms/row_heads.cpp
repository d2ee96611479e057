// Reductions and norms; see head_parts.h.
#include <algorithm>

#include "gpu/forms/head_parts.h"
#include "ops/definition/by_role.h"

namespace soapstone::gpu {

using core::AttributeRole;
using core::Node;
using core::OperandRole;

core::Result<std::uint32_t> append_reduction(OperationDraft& draft, core::NodeId id) {
  const Node& node = draft.graph().node(id);
  const ops::Semantics meaning = ops::semantics_of(draft.graph(), id);
  const ops::ExprKind kind = meaning.stages.back().body->kind;
  const bool averages = node.op->averages && kind == ops::ExprKind::kMul;
  const bool is_plain = kind == ops::ExprKind::kSum || kind == ops::ExprKind::kMax;
  if (meaning.stages.size() != 1 || (!averages && !is_plain))
    return core::unsupported("no plain reduction");
  const ops::Expr& loop = averages ? meaning.stages[0].body->arguments[0] : meaning.stages[0].body;
  const bool reads = loop->kind == ops::ExprKind::kSum
                         ? loop->arguments[0]->kind == ops::ExprKind::kRead
                         : loop->kind == ops::ExprKind::kMax && loop->alternatives.size() == 1 &&
                               loop->alternatives[0].body->kind == ops::ExprKind::kRead;
  if (!reads) return core::unsupported("a reduction of functions of its elements");
  const core::Dims from = dims_of(draft, node.inputs[0]);
  core::Dims to = from;
  for (const std::int64_t axis : numbers_by_role(node, AttributeRole::kAxes))
    to[static_cast<std::size_t>(axis)] = 1;
  const runtime::Layout layout = draft.layout_of(node.outputs[0]);
  Operation operation;
  operation.kind = Operation::Kind::kReduction;
  operation.reduction = loop->kind == ops::ExprKind::kSum ? Reduction::kSum : Reduction::kMaximum;
  operation.inputs = {draft.add_tensor(node.inputs[0])};
  operation.output = draft.add_virtual(draft.graph().tensor(node.outputs[0]).type.data_type, to,
                                       runtime::strides_of(to, layout));
  draft.add(operation);
  if (!averages) return operation.output;
  const double count = static_cast<double>(core::element_count(from)) /
                       static_cast<double>(std::max<std::int64_t>(core::element_count(to), 1));
  Operation scale;
  scale.pointwise = Pointwise::kMultiply;
  scale.inputs = {operation.output, draft.add_number(1 / count, to.size())};
  scale.output = add_virtual_like(draft, operation.output);
  draft.add(scale);
  return scale.output;
}

bool is_norm(const Node& node, const ops::OpDefinition& definition) {
  return definition.op_class == ops::OpClass::kNormalization &&
         node.op->has_operand(OperandRole::kFeatures) &&
         has_roles(node, {AttributeRole::kPositiveReal, AttributeRole::kAxis});
}

core::Result<std::uint32_t> append_norm(OperationDraft& draft, core::NodeId id) {
  const Node& node = draft.graph().node(id);
  const auto axis = static_cast<std::int64_t>(ops::axis_by_role(node));
  const core::Dims dims = dims_of(draft, node.inputs[0]);
  const core::Dims features(dims.begin() + axis, dims.end());
  for (std::size_t k = 1; k < node.inputs.size(); ++k)
    if (!node.inputs[k].valid() || dims_of(draft, node.inputs[k]) != features)
      return core::unsupported("a norm whose parameters do not lie along its axes");
  Operation operation;
  operation.kind = Operation::Kind::kNorm;
  operation.norm =
      ops::semantics_of(draft.graph(), id).stages.size() > 2 ? Norm::kLayer : Norm::kRootMeanSquare;
  const std::size_t parameters = operation.norm == Norm::kLayer ? 2 : 1;
  if (node.inputs.size() != parameters + 1) return core::unsupported("a norm without a bias");
  const core::DataType type = draft.graph().tensor(node.inputs[0]).type.data_type;
  // [rows, features, 1, 1]: what comes before the axis is one dimension, and so are features.
  const std::int64_t columns = core::element_count(features);
  const std::int64_t rows = core::element_count(dims) / columns;
  const auto shaped = [&](core::TensorId tensor, std::int64_t count) {
    return GraphTensor{tensor, type, {count, columns, 1, 1}, {columns, 1, columns, columns}, 0,
                       {},     false};
  };
  operation.inputs = {draft.add(shaped(node.inputs[0], rows))};
  for (std::size_t k = 1; k < node.inputs.size(); ++k)
    operation.inputs.push_back(draft.add(shaped(node.inputs[k], 1)));
  const core::AttributeSchema* epsilon = node.op->find_role(AttributeRole::kPositiveReal);
  operation.inputs.push_back(draft.add_number(node.attributes.get_real(epsilon->name), 4));
  operation.output = draft.add(shaped(core::TensorId::none(), rows));
  draft.add(operation);
  return operation.output;
}

}  // namespace soapstone::gpu
