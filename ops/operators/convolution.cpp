// Convolution (any number of spatial dimensions, strided, dilated, grouped) and `enlarge`, which
// puts a kernel inside a larger kernel of zeros (TASO, table 1).
#include <fmt/format.h>

#include "ops/definition/registry.h"
#include "ops/parts/window.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;

std::vector<TensorType> infer_conv(InferContext& c) {
  if (!require_one_type(c, "conv", Elements::kFloating) ||
      !c.require(c.rank(0) >= 3, "conv.rank", "x must be [n, c, s…]") ||
      !c.require_rank(1, c.rank(0), "conv.weight_rank"))
    return {};
  const auto group = require_int(c, "conv", "group");
  if (!group || !c.require(*group >= 1, "conv.group", "group must be 1 or more")) return {};
  const Shape &x = c.shape(0), &w = c.shape(1);
  if (!c.require_equal(x[1], w[1] * *group, "conv.channels")) return {};
  if (!divide_exactly(w[0], *group) &&
      !c.require_equal(w[0], c.floor_div(w[0], *group) * *group, "conv.group_outputs"))
    return {};
  if (c.has_input(2) && (!c.require_rank(2, 1, "conv.bias_rank") ||
                         !c.require_equal(c.shape(2)[0], w[0], "conv.bias_size")))
    return {};
  const auto window = require_window(c, "conv", spatial_sizes(w));
  if (!window) return {};
  const auto sizes = require_window_fits(c, "conv", *window, spatial_sizes(x), false);
  if (!sizes) return {};
  Shape result{x[0], w[0]};
  result.insert(result.end(), sizes->begin(), sizes->end());
  return {{c.input(0).data_type, std::move(result)}};
}

/// Output element [n, ·, s…] of the filter `output_channel` over the input channels from
/// `first_channel` on. The channel is the innermost variable: only the window is guarded.
Expr convolve(SemanticsBuilder& builder, const OpInstance& op, const Index& element,
              const Polynomial& first_channel, const Polynomial& output_channel) {
  const Shape &x = op.inputs[0].shape, &w = op.inputs[1].shape;
  const Window window = window_of(op.attributes, spatial_sizes(w));
  std::vector<Binder> binders = window_binders(builder, window);
  const Index position = window_index(window, std::span(element).last(window.rank()), binders);
  Index weight{output_channel, 0}, data{element[0], 0};
  for (const Binder& binder : binders) weight.push_back(binder.variable);
  data.insert(data.end(), position.begin(), position.end());
  const Binder channel{builder.fresh(), 0, w[1]};
  weight[1] = channel.variable;
  data[1] = first_channel + channel.variable;
  binders.push_back(channel);
  return sum(std::move(binders), read(0, std::move(data)) * read(1, std::move(weight)),
             within(position, spatial_sizes(x)));
}

Expr with_bias(const OpInstance& op, Expr value, const Polynomial& channel) {
  return op.has_input(2) ? std::move(value) + read(2, {channel}) : value;
}

/// Groups as a dimension of their own, then flattened: the channel index stays affine and no
/// element looks at the other groups.
void grouped_stages(SemanticsBuilder& builder, const OpInstance& op, std::int64_t group,
                    const Polynomial& per_group) {
  const Polynomial channels = op.inputs[1].shape[1];
  const Shape& result = op.outputs[0].shape;
  Shape split = result;
  split[1] = per_group;
  split.insert(split.begin() + 1, group);
  const auto grouped = builder.stage(split, [&](const Index& i) {
    return convolve(builder, op, i, i[1] * channels, i[1] * per_group + i[2]);
  });
  builder.output(result, [&](const Index& i) {
    return with_bias(op, read_flat(grouped, flat_position(result, i)), i[1]);
  });
}

/// For an output channel count that does not show its divisor: channel o is in group g where
/// g·O ≤ group·o < (g+1)·O.
Expr sum_of_groups(SemanticsBuilder& builder, const OpInstance& op, std::int64_t group,
                   const Index& i) {
  const Shape& w = op.inputs[1].shape;
  Expr total = number(0.0);
  for (std::int64_t g = 0; g < group; ++g)
    total = total + guard({at_least(i[1] * group, w[0] * g), less(i[1] * group, w[0] * (g + 1))},
                          convolve(builder, op, i, w[1] * g, i[1]));
  return total;
}

Semantics conv_semantics(const OpInstance& op) {
  SemanticsBuilder builder(static_cast<std::uint32_t>(op.inputs.size()));
  const std::int64_t group = op.attributes.get_int("group");
  const auto per_group = divide_exactly(op.inputs[1].shape[0], group);
  if (group > 1 && per_group) {
    grouped_stages(builder, op, group, *per_group);
  } else {
    builder.output(op.outputs[0].shape, [&](const Index& i) {
      return with_bias(
          op, group == 1 ? convolve(builder, op, i, 0, i[1]) : sum_of_groups(builder, op, group, i),
          i[1]);
    });
  }
  return std::move(builder).finish();
}

ReadResult read_conv(OnnxImport& import) {
  const core::Dims x = input_dims(import, 0), w = input_dims(import, 1);
  if (x.size() < 3 || w.size() != x.size())
    return bad_node(import, "x must be [n, c, s…] and w of the same rank");
  const std::span kernel = std::span(w).subspan(2);
  if (auto shape = import.ints("kernel_shape"); shape && !std::ranges::equal(*shape, kernel))
    return bad_node(import, "kernel_shape is not that of the weight");
  SOAPSTONE_ASSIGN_OR_RETURN(Attributes attributes,
                             read_window(import, std::span(x).subspan(2), kernel));
  attributes.set("group", Polynomial(import.int_or("group", 1)));
  std::vector<TensorId> inputs{import.input(0), import.input(1)};
  if (has_input(import, 2)) inputs.push_back(import.input(2));
  return import.append("conv", std::move(inputs), std::move(attributes));
}

core::Status write_conv(OnnxExport& out) {
  Emitter emitter(out);
  OnnxAttributes attributes = write_window(emitter.attributes());
  const core::Dims w = emitter.dims(1);
  attributes.emplace_back("kernel_shape", std::vector<std::int64_t>(w.begin() + 2, w.end()));
  attributes.emplace_back("group", emitter.attributes().get_int("group"));
  out.emit_same("Conv", std::move(attributes));
  return core::Done{};
}

OpDefinition conv() {
  std::vector<core::AttributeSchema> attributes = window_attributes();
  attributes.push_back(
      {"group", AttributeRole::kGroup, Polynomial(1), {Polynomial(1), Polynomial(2)}});
  return OpDefinition({
      .name = "conv",
      .equation = "x[n,c,s…] w[o,c/g,k…] b[o]? → y[n,o,s'…] = b[o] + Σ w[o,i,k…]·x[n, i of the "
                  "group of o, s'·stride + k·dilation − pad]",
      .attributes = std::move(attributes),
      .inputs = Arity(2, 3),
      .op_class = OpClass::kContraction,
      .operands = {OperandRole::kImage, OperandRole::kKernel, OperandRole::kChannels},
      .infer = infer_conv,
      .semantics = conv_semantics,
      .onnx = OnnxMapping{{reader("Conv", Elements::kFloating, read_conv)}, write_conv},
  });
}

std::vector<TensorType> infer_enlarge(InferContext& c) {
  const Sizes& kernel = c.attributes().get_sizes("kernel");
  if (!require_elements(c, "enlarge", Elements::kNumbers) ||
      !c.require(c.rank(0) >= 3, "enlarge.rank", "w must be [o, c, k…]") ||
      !c.require(
          kernel.size() + 2 == c.rank(0), "enlarge.kernel_rank",
          fmt::format("kernel has {} sizes for a weight of rank {}", kernel.size(), c.rank(0))))
    return {};
  Shape result = c.shape(0);
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    if (!c.require_at_least(kernel[d], result[d + 2], "enlarge.kernel")) return {};
    result[d + 2] = kernel[d];
  }
  return {{c.input(0).data_type, std::move(result)}};
}

/// w lies ⌊(kernel − k)/2⌋ behind the edge. If that is no polynomial, the one h with kernel − k − 1
/// ≤ 2·(i − h) ≤ kernel − k is the coordinate in w of coordinate i.
Expr enlarged(SemanticsBuilder& builder, const Shape& w, const Shape& result, const Index& i) {
  Index position{i[0], i[1]};
  std::vector<Binder> binders;
  std::vector<Constraint> constraints;
  for (std::size_t d = 2; d < w.size(); ++d) {
    const Polynomial margin = result[d] - w[d];
    auto before = divide_exactly(margin, 2);
    if (!before && margin.is_constant()) before = (margin.constant() - 1) / 2;
    if (before) {
      position.push_back(i[d] - *before);
      constraints.push_back(at_least(position[d], 0));
      constraints.push_back(less(position[d], w[d]));
    } else {
      binders.push_back({builder.fresh(), 0, w[d]});
      position.push_back(binders.back().variable);
      const Polynomial twice = (i[d] - position[d]) * 2;
      constraints.push_back(at_least(twice, margin - 1));
      constraints.push_back(at_least(margin, twice));
    }
  }
  Expr element = read(0, std::move(position));
  if (binders.empty()) return guard(std::move(constraints), std::move(element));
  return sum(std::move(binders), std::move(element), std::move(constraints));
}

Semantics enlarge_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& result = op.outputs[0].shape;
  builder.output(result,
                 [&](const Index& i) { return enlarged(builder, op.inputs[0].shape, result, i); });
  return std::move(builder).finish();
}

core::Status write_enlarge(OnnxExport& out) {
  Emitter emitter(out);
  const core::Dims w = emitter.dims(0);
  const std::vector<std::int64_t> kernel = emitter.attributes().get_ints("kernel");
  std::vector<std::int64_t> pads(2 * w.size(), 0);
  for (std::size_t d = 2; d < w.size(); ++d) {
    const std::int64_t margin = kernel[d - 2] - w[d];
    pads[d] = margin / 2;
    pads[w.size() + d] = margin - margin / 2;
  }
  emitter.pad(emitter.operand(0), pads, 0, true);
  return core::Done{};
}

OpDefinition enlarge() {
  return OpDefinition({
      .name = "enlarge",
      .equation = "w[o,c,k…] → y[o,c,kernel…] = w inside zeros, ⌊(kernel − k)/2⌋ of them before it",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"kernel", AttributeRole::kWindow, std::nullopt, {Sizes{3, 3}, Sizes{5, 5}}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .operands = {OperandRole::kKernel},
      .infer = infer_enlarge,
      .semantics = enlarge_semantics,
      .onnx = OnnxMapping{{}, write_enlarge},
  });
}

}  // namespace

std::vector<OpDefinition> convolution_ops() { return {conv(), enlarge()}; }

}  // namespace soapstone::ops
