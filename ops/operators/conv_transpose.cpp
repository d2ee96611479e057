// `conv_transpose`: the transposed convolution, any number of spatial dimensions, strided, dilated,
// grouped. Its element at s' gathers all positions s and window elements k that a convolution with
// this window would have spread over it: s·stride + k·dilation − pad = s'.
#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/registry.h"
#include "ops/parts/window.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;

/// Rows that the last window leaves out, chosen by the model; none given: none.
std::vector<std::int64_t> output_padding(const Attributes& attributes, std::size_t rank) {
  std::vector<std::int64_t> padding = attributes.get_ints("output_padding");
  if (padding.empty()) padding.resize(rank, 0);
  return padding;
}

bool require_shapes(InferContext& c, std::int64_t group) {
  const Shape &x = c.shape(0), &w = c.shape(1);
  if (!c.require(group >= 1, "conv_transpose.group", "group must be 1 or more") ||
      !c.require_equal(x[1], w[0], "conv_transpose.channels"))
    return false;
  if (!divide_exactly(x[1], group) &&
      !c.require_equal(x[1], c.floor_div(x[1], group) * group, "conv_transpose.group_inputs"))
    return false;
  return !c.has_input(2) ||
         (c.require_rank(2, 1, "conv_transpose.bias_rank") &&
          c.require_equal(c.shape(2)[0], w[1] * group, "conv_transpose.bias_size"));
}

std::vector<TensorType> infer_conv_transpose(InferContext& c) {
  if (!require_one_type(c, "conv_transpose", Elements::kFloating) ||
      !c.require(c.rank(0) >= 3, "conv_transpose.rank", "x must be [n, c, s…]") ||
      !c.require_rank(1, c.rank(0), "conv_transpose.weight_rank"))
    return {};
  const auto group = require_int(c, "conv_transpose", "group");
  const auto extra = require_ints(c, "conv_transpose", "output_padding");
  if (!group || !extra || !require_shapes(c, *group)) return {};
  const Shape &x = c.shape(0), &w = c.shape(1);
  const auto window = require_window(c, "conv_transpose", spatial_sizes(w));
  if (!window) return {};
  const std::vector<std::int64_t> padding = output_padding(c.attributes(), window->rank());
  if (!c.require(padding.size() == window->rank() &&
                     std::ranges::all_of(padding, [](std::int64_t p) { return p >= 0; }),
                 "conv_transpose.output_padding", "one size of 0 or more a spatial dimension"))
    return {};
  Shape result{x[0], w[1] * *group};
  for (std::size_t d = 0; d < window->rank(); ++d) {
    const Polynomial size = (x[d + 2] - 1) * window->strides[d] + padding[d] +
                            (window->kernel[d] - 1) * window->dilations[d] + 1 -
                            window->pads_begin[d] - window->pads_end[d];
    if (!c.require_at_least(size, 1, "conv_transpose.window_fits")) return {};
    result.push_back(size);
  }
  return {{c.input(0).data_type, std::move(result)}};
}

/// Element [n, ·, s'…] over the input channels from `first_channel` on, of the filters
/// [·, output_channel, k…].
Expr gather_terms(SemanticsBuilder& builder, const OpInstance& op, const Index& element,
                  const Polynomial& first_channel, const Polynomial& channel_count,
                  const Polynomial& output_channel) {
  const Shape &x = op.inputs[0].shape, &w = op.inputs[1].shape;
  const Window window = window_of(op.attributes, spatial_sizes(w));
  const auto outputs = std::span(element).last(window.rank());
  std::vector<Binder> binders = window_binders(builder, window);
  Index data{element[0], 0}, weight{0, output_channel};
  std::vector<Constraint> constraints;
  for (std::size_t d = 0; d < window.rank(); ++d) {
    const Polynomial at = binders[d].variable;
    const Polynomial reached = outputs[d] + window.pads_begin[d] - at * window.dilations[d];
    weight.push_back(at);
    if (window.strides[d] == 1) {
      data.push_back(reached);
      constraints.push_back(at_least(reached, 0));
      constraints.push_back(less(reached, x[d + 2]));
    } else {
      const Binder position{builder.fresh(), 0, x[d + 2]};
      data.push_back(position.variable);
      constraints.push_back(equal(Polynomial(position.variable) * window.strides[d], reached));
      binders.push_back(position);
    }
  }
  const Binder channel{builder.fresh(), 0, channel_count};
  data[1] = weight[0] = first_channel + channel.variable;
  binders.push_back(channel);
  return sum(std::move(binders), read(0, std::move(data)) * read(1, std::move(weight)),
             std::move(constraints));
}

/// Groups are a dimension of their own, then flattened, as in `conv`.
Semantics conv_transpose_semantics(const OpInstance& op) {
  SemanticsBuilder builder(static_cast<std::uint32_t>(op.inputs.size()));
  const std::int64_t group = op.attributes.get_int("group");
  const Shape &result = op.outputs[0].shape, &x = op.inputs[0].shape, &w = op.inputs[1].shape;
  const auto biased = [&](Expr value, const Polynomial& channel) {
    return op.has_input(2) ? std::move(value) + read(2, {channel}) : value;
  };
  if (group == 1) {
    builder.output(result, [&](const Index& i) {
      return biased(gather_terms(builder, op, i, 0, x[1], i[1]), i[1]);
    });
    return std::move(builder).finish();
  }
  // If the number of channels is not visibly divisible, input channel c belongs to group g if g·C ≤
  // group·c.
  const auto per_group = divide_exactly(x[1], group);
  Shape split = result;
  split[1] = w[1];
  split.insert(split.begin() + 1, group);
  const auto grouped = builder.stage(split, [&](const Index& i) {
    if (per_group) return gather_terms(builder, op, i, i[1] * *per_group, *per_group, i[2]);
    const Expr all = gather_terms(builder, op, i, 0, x[1], i[2]);
    const Binder& channel = all->binders.back();
    std::vector<Constraint> constraints = all->constraints;
    const Polynomial scaled = Polynomial(channel.variable) * group;
    constraints.push_back(at_least(scaled, i[1] * x[1]));
    constraints.push_back(less(scaled, (i[1] + 1) * x[1]));
    return sum(all->binders, all->arguments[0], std::move(constraints));
  });
  builder.output(result, [&](const Index& i) {
    return biased(read_flat(grouped, flat_position(result, i)), i[1]);
  });
  return std::move(builder).finish();
}

/// Padding that makes the result as large as asked for; half of it on each side.
bool set_output_shape(std::vector<std::int64_t>& pads, std::span<const std::int64_t> wanted,
                      std::span<const std::int64_t> unpadded, bool larger_end) {
  const std::size_t rank = unpadded.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t total = unpadded[d] - wanted[d];
    if (total < 0) return false;
    pads[d] = larger_end ? total / 2 : total - total / 2;
    pads[rank + d] = total - pads[d];
  }
  return true;
}

ReadResult read_conv_transpose(OnnxImport& import) {
  const core::Dims x = input_dims(import, 0), w = input_dims(import, 1);
  if (x.size() < 3 || w.size() != x.size())
    return bad_node(import, "x must be [n, c, s…] and w of the same rank");
  const std::size_t rank = x.size() - 2;
  const std::span kernel = std::span(w).subspan(2), sizes = std::span(x).subspan(2);
  if (auto shape = import.ints("kernel_shape"); shape && !std::ranges::equal(*shape, kernel))
    return bad_node(import, "kernel_shape is not that of the weight");
  SOAPSTONE_ASSIGN_OR_RETURN(Attributes attributes, read_window(import, sizes, kernel));
  const auto extra = import.ints("output_padding").value_or(std::vector<std::int64_t>(rank, 0));
  const auto strides = attributes.get_ints("strides"), dilations = attributes.get_ints("dilations");
  if (extra.size() != rank) return bad_node(import, "output_padding does not fit the input");
  std::vector<std::int64_t> unpadded, automatic;
  for (std::size_t d = 0; d < rank; ++d) {
    unpadded.push_back((sizes[d] - 1) * strides[d] + extra[d] + (kernel[d] - 1) * dilations[d] + 1);
    automatic.push_back(sizes[d] * strides[d]);
  }
  const std::string mode = import.text_or("auto_pad", "NOTSET");
  auto wanted = import.ints("output_shape");
  if (wanted && wanted->size() == rank + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (!wanted && mode.starts_with("SAME_")) wanted = automatic;
  if (wanted) {
    std::vector<std::int64_t> pads = attributes.get_ints("pads");
    if (wanted->size() != rank) return bad_node(import, "output_shape does not fit the input");
    if (!set_output_shape(pads, *wanted, unpadded, mode == "SAME_UPPER"))
      return cannot_read(import, "output_shape is larger than what the windows reach");
    attributes.set("pads", to_sizes(pads));
  }
  attributes.set("group", Polynomial(import.int_or("group", 1)));
  attributes.set("output_padding", to_sizes(extra));
  std::vector<TensorId> inputs{import.input(0), import.input(1)};
  if (has_input(import, 2)) inputs.push_back(import.input(2));
  return import.append("conv_transpose", std::move(inputs), std::move(attributes));
}

core::Status write_conv_transpose(OnnxExport& out) {
  Emitter emitter(out);
  OnnxAttributes attributes = write_window(emitter.attributes());
  const core::Dims w = emitter.dims(1);
  attributes.emplace_back("kernel_shape", std::vector<std::int64_t>(w.begin() + 2, w.end()));
  attributes.emplace_back("group", emitter.attributes().get_int("group"));
  attributes.emplace_back("output_padding", output_padding(emitter.attributes(), w.size() - 2));
  out.emit_same("ConvTranspose", std::move(attributes));
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> conv_transpose_ops() {
  std::vector<core::AttributeSchema> attributes = window_attributes();
  attributes.push_back(
      {"group", AttributeRole::kGroup, Polynomial(1), {Polynomial(1), Polynomial(2)}});
  attributes.push_back({"output_padding", AttributeRole::kGap, Sizes{}, {}});
  return {OpDefinition({
      .name = "conv_transpose",
      .equation = "x[n,c,s…] w[c,o/g,k…] b[o]? → y[n,o,s'…] = b[o] + Σ over c of the group of o, s "
                  "and k with s·stride + k·dilation − pad = s' of x[n,c,s…]·w[c,o,k…]",
      .attributes = std::move(attributes),
      .inputs = Arity(2, 3),
      .op_class = OpClass::kContraction,
      .operands = {OperandRole::kImage, OperandRole::kKernel, OperandRole::kChannels},
      .infer = infer_conv_transpose,
      .semantics = conv_transpose_semantics,
      .onnx = OnnxMapping{{reader("ConvTranspose", Elements::kFloating, read_conv_transpose)},
                          write_conv_transpose},
  })};
}

}  // namespace soapstone::ops
