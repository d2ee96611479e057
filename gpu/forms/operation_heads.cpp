// See operation_heads.h.
#include "gpu/forms/operation_heads.h"

#include <algorithm>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"

namespace soapstone::gpu {
namespace {

using core::AttributeRole;
using core::Node;
using core::OperandRole;
using Kind = Operation::Kind;

core::Dims numbers_by_role(const Node& node, AttributeRole role) {
  core::Dims numbers;
  for (const core::Polynomial& size : ops::sizes_by_role(node, role))
    numbers.push_back(size.constant());
  return numbers;
}

bool has(const Node& node, std::initializer_list<AttributeRole> roles) {
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

/// Libraries have windows over two dimensions or three: over one, a dimension of 1 is put in front.
void widen(core::Dims& per_dimension, std::int64_t value) {
  if (per_dimension.size() == 1) per_dimension.insert(per_dimension.begin(), value);
}

SlidingWindow window_of(const Node& node, core::Dims size) {
  SlidingWindow window;
  const core::Dims pads = numbers_by_role(node, AttributeRole::kPad);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  window.size = std::move(size);
  window.pads_before.assign(pads.begin(), middle);
  window.pads_behind.assign(middle, pads.end());
  window.strides = numbers_by_role(node, AttributeRole::kStride);
  window.dilations = numbers_by_role(node, AttributeRole::kDilation);
  widen(window.size, 1);
  widen(window.pads_before, 0);
  widen(window.pads_behind, 0);
  widen(window.strides, 1);
  widen(window.dilations, 1);
  return window;
}

/// The sizes that windows of this kind leave, without rounding up.
bool windows_fit(const SlidingWindow& window, std::span<const std::int64_t> from,
                 std::span<const std::int64_t> to) {
  const std::size_t shift = window.size.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::size_t w = d + shift;
    const std::int64_t reach = window.dilations[w] * (window.size[w] - 1) + 1;
    const std::int64_t room = from[d] + window.pads_before[w] + window.pads_behind[w] - reach;
    if (room < 0 || room / window.strides[w] + 1 != to[d]) return false;
  }
  return true;
}

/// An image with at least two dimensions that windows slide over.
std::uint32_t add_image(OperationDraft& draft, core::TensorId id) {
  const std::uint32_t number = draft.add_tensor(id);
  GraphTensor& tensor = draft.result().tensors[number];
  if (tensor.dims.size() == 3) {
    tensor.dims.insert(tensor.dims.begin() + 2, 1);
    tensor.strides.insert(tensor.strides.begin() + 2, tensor.strides[2]);
  }
  return number;
}

std::uint32_t add_virtual_like(OperationDraft& draft, std::uint32_t tensor) {
  const GraphTensor like = draft.result().tensors[tensor];
  return draft.add_virtual(like.data_type, like.dims, like.strides);
}

/// Adds one number for each channel to an image.
std::uint32_t add_channels(OperationDraft& draft, std::uint32_t image, core::TensorId channels) {
  const std::uint32_t result = add_virtual_like(draft, image);
  const GraphTensor like = draft.result().tensors[image];
  GraphTensor bias{
      channels, like.data_type, core::Dims(like.dims.size(), 1), core::Dims(like.dims.size(), 1), 0,
      {},       false};
  bias.dims[1] = like.dims[1];
  bias.strides[0] = like.dims[1];
  Operation add;
  add.pointwise = Pointwise::kAdd;
  add.inputs = {image, draft.add(std::move(bias))};
  add.output = result;
  draft.add(std::move(add));
  return result;
}

bool is_convolution(const Node& node) {
  return node.op->operand_role(0) == OperandRole::kImage &&
         node.op->operand_role(1) == OperandRole::kKernel && node.inputs.size() >= 2 &&
         has(node, {AttributeRole::kStride, AttributeRole::kDilation, AttributeRole::kPad,
                    AttributeRole::kGroup}) &&
         !node.op->find_role(AttributeRole::kGap);
}

core::Result<std::uint32_t> append_convolution(OperationDraft& draft, const Node& node) {
  const core::Dims image = dims_of(draft, node.inputs[0]), kernel = dims_of(draft, node.inputs[1]),
                   result = dims_of(draft, node.outputs[0]);
  Operation operation;
  operation.kind = Kind::kConvolution;
  operation.window = window_of(node, core::Dims(kernel.begin() + 2, kernel.end()));
  if (kernel[0] != result[1] || image[1] % kernel[1] != 0 ||
      !windows_fit(operation.window, std::span(image).subspan(2), std::span(result).subspan(2)))
    return core::unsupported("no forward convolution");
  operation.inputs = {add_image(draft, node.inputs[0]), add_image(draft, node.inputs[1])};
  operation.output = add_image(draft, node.outputs[0]);
  const std::uint32_t product = operation.output;
  draft.result().tensors[product].id = core::TensorId::none();
  draft.add(std::move(operation));
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return product;
  return add_channels(draft, product, node.inputs[2]);
}

bool is_pool(const Node& node) {
  return node.op->operand_role(0) == OperandRole::kImage &&
         has(node, {AttributeRole::kStride, AttributeRole::kDilation, AttributeRole::kPad,
                    AttributeRole::kWindow});
}

/// Where the last windows reach beyond the image, that is padding: it counts no more than they do.
void cover_overhang(SlidingWindow& window, const core::Dims& from, const core::Dims& to) {
  const std::size_t rank = window.size.size();
  for (std::size_t d = 0; d < rank && d + 2 < from.size() + rank; ++d) {
    if (d + from.size() < rank + 2) continue;  // a dimension that was put in front
    const std::size_t at = d + from.size() - rank;
    const std::int64_t end = (to[at] - 1) * window.strides[d] + window.size[d];
    window.pads_behind[d] = std::max(window.pads_behind[d], end - from[at] - window.pads_before[d]);
  }
}

core::Result<std::uint32_t> append_pool(OperationDraft& draft, const Node& node) {
  const core::Dims image = dims_of(draft, node.inputs[0]), result = dims_of(draft, node.outputs[0]);
  Operation operation;
  operation.kind = Kind::kPool;
  operation.window = window_of(node, numbers_by_role(node, AttributeRole::kWindow));
  operation.reduction = node.op->averages ? Reduction::kMean : Reduction::kMaximum;
  operation.counts_pad = flag_by_role(node, AttributeRole::kCountsPad);
  if (!operation.counts_pad) cover_overhang(operation.window, image, result);
  if (std::ranges::any_of(operation.window.dilations, [](auto d) { return d != 1; }) ||
      !windows_fit(operation.window, std::span(image).subspan(2), std::span(result).subspan(2)))
    return core::unsupported("a pool with dilations, or whose windows overhang");
  operation.inputs = {add_image(draft, node.inputs[0])};
  operation.output = add_image(draft, node.outputs[0]);
  draft.result().tensors[operation.output].id = core::TensorId::none();
  draft.add(operation);
  return operation.output;
}

/// A sum, mean or maximum over whole dimensions.
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
  if (node.op->find_role(AttributeRole::kAxes))
    for (const std::int64_t axis : numbers_by_role(node, AttributeRole::kAxes))
      to[static_cast<std::size_t>(axis)] = 1;
  else
    std::fill(to.begin() + 2, to.end(), 1);
  const runtime::Layout layout = draft.layout_of(node.outputs[0]);
  Operation operation;
  operation.kind = Kind::kReduction;
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
         has(node, {AttributeRole::kPositiveReal, AttributeRole::kAxis});
}

/// Over the dimensions from the axis on. Layer norms subtract the mean: they have one stage more.
core::Result<std::uint32_t> append_norm(OperationDraft& draft, core::NodeId id) {
  const Node& node = draft.graph().node(id);
  const auto axis = static_cast<std::int64_t>(ops::axis_by_role(node));
  const core::Dims dims = dims_of(draft, node.inputs[0]);
  const core::Dims features(dims.begin() + axis, dims.end());
  for (std::size_t k = 1; k < node.inputs.size(); ++k)
    if (!node.inputs[k].valid() || dims_of(draft, node.inputs[k]) != features)
      return core::unsupported("a norm whose parameters do not lie along its axes");
  Operation operation;
  operation.kind = Kind::kNorm;
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

}  // namespace

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

core::Result<std::uint32_t> append_head(OperationDraft& draft, core::NodeId id) {
  const Node& node = draft.graph().node(id);
  const ops::OpDefinition* definition = ops::definition_of(node);
  if (!definition) return core::unsupported("an operator without a meaning");
  if (is_convolution(node)) return append_convolution(draft, node);
  if (is_pool(node)) return append_pool(draft, node);
  if (is_norm(node, *definition)) return append_norm(draft, id);
  const bool reduces_dimensions =
      node.op->find_role(AttributeRole::kAxes) || node.op->operand_role(0) == OperandRole::kImage;
  if (definition->op_class == ops::OpClass::kReduction && reduces_dimensions)
    return append_reduction(draft, id);
  return core::unsupported("no convolution, pool, reduction or norm");
}

}  // namespace soapstone::gpu
