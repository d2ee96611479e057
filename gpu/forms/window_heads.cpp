// Convolutions and pools; see head_parts.h.
#include <algorithm>

#include "gpu/forms/head_parts.h"

namespace soapstone::gpu {

using core::AttributeRole;
using core::Node;
using core::OperandRole;

namespace {

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

/// Where the last windows reach beyond the image, that is padding: it counts no more than they do.
void cover_overhang(SlidingWindow& window, const core::Dims& from, const core::Dims& to) {
  const std::size_t rank = window.size.size();
  for (std::size_t d = 0; d < rank; ++d) {
    if (d + from.size() < rank + 2) continue;  // a dimension that was put in front
    const std::size_t at = d + from.size() - rank;
    const std::int64_t end = (to[at] - 1) * window.strides[d] + window.size[d];
    window.pads_behind[d] = std::max(window.pads_behind[d], end - from[at] - window.pads_before[d]);
  }
}

}  // namespace

bool is_convolution(const Node& node) {
  return node.op->operand_role(0) == OperandRole::kImage &&
         node.op->operand_role(1) == OperandRole::kKernel && node.inputs.size() >= 2 &&
         has_roles(node, {AttributeRole::kStride, AttributeRole::kDilation, AttributeRole::kPad,
                          AttributeRole::kGroup}) &&
         !node.op->find_role(AttributeRole::kGap);
}

core::Result<std::uint32_t> append_convolution(OperationDraft& draft, const Node& node) {
  const core::Dims image = dims_of(draft, node.inputs[0]), kernel = dims_of(draft, node.inputs[1]),
                   result = dims_of(draft, node.outputs[0]);
  Operation operation;
  operation.kind = Operation::Kind::kConvolution;
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
         has_roles(node, {AttributeRole::kStride, AttributeRole::kDilation, AttributeRole::kPad,
                          AttributeRole::kWindow});
}

core::Result<std::uint32_t> append_pool(OperationDraft& draft, const Node& node) {
  const core::Dims image = dims_of(draft, node.inputs[0]), result = dims_of(draft, node.outputs[0]);
  Operation operation;
  operation.kind = Operation::Kind::kPool;
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

core::Result<std::uint32_t> append_whole_pool(OperationDraft& draft, const Node& node) {
  Operation operation;
  operation.kind = Operation::Kind::kPool;
  operation.reduction = Reduction::kMean;
  operation.inputs = {add_image(draft, node.inputs[0])};
  operation.output = add_image(draft, node.outputs[0]);
  draft.result().tensors[operation.output].id = core::TensorId::none();
  const core::Dims& image = draft.result().tensors[operation.inputs[0]].dims;
  operation.window.size.assign(image.begin() + 2, image.end());
  const std::size_t rank = operation.window.size.size();
  operation.window.strides.assign(rank, 1);
  operation.window.dilations.assign(rank, 1);
  operation.window.pads_before.assign(rank, 0);
  operation.window.pads_behind.assign(rank, 0);
  draft.add(operation);
  return operation.output;
}

}  // namespace soapstone::gpu
