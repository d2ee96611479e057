// Pooling. Padded positions never win a maximum; they count in a mean only with
// count_include_pad. A window of ceil_mode may reach beyond the padding: that never counts.
#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/registry.h"
#include "ops/parts/window.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;

InferFunction infer_pool(std::string op, Elements elements) {
  return [op = std::move(op), elements](InferContext& c) -> std::vector<TensorType> {
    if (!require_elements(c, op, elements) ||
        !c.require(c.rank(0) >= 3, label(op, "rank"), "x must be [n, c, s…]"))
      return {};
    const Sizes& kernel = c.attributes().get_sizes("kernel");
    if (!c.require(kernel.size() + 2 == c.rank(0), label(op, "kernel_rank"),
                   fmt::format("kernel has {} sizes for x of rank {}", kernel.size(), c.rank(0))))
      return {};
    const auto ceil_mode = require_int(c, op, "ceil_mode");
    const bool average = c.attributes().find("count_include_pad") != nullptr;
    const auto count_all = average ? require_int(c, op, "count_include_pad") : 0;
    const auto window = require_window(c, op, kernel);
    if (!ceil_mode || !count_all || !window) return {};
    const Shape& x = c.shape(0);
    const auto sizes = require_window_fits(c, op, *window, spatial_sizes(x), *ceil_mode != 0);
    if (!sizes || (*count_all == 0 && !require_no_empty_window(c, op, *window, spatial_sizes(x))))
      return {};
    Shape result{x[0], x[1]};
    result.insert(result.end(), sizes->begin(), sizes->end());
    return {{c.input(0).data_type, std::move(result)}};
  };
}

/// The elements of x under the window of output element i.
struct WindowElements {
  std::vector<Binder> binders;
  std::vector<Constraint> inside;
  Expr body;
};

WindowElements under_window(SemanticsBuilder& builder, const Window& window, const Shape& x,
                            const Index& i) {
  std::vector<Binder> binders = window_binders(builder, window);
  const Index position = window_index(window, std::span(i).subspan(2), binders);
  Index element{i[0], i[1]};
  element.insert(element.end(), position.begin(), position.end());
  return {std::move(binders), within(position, spatial_sizes(x)), read(0, std::move(element))};
}

Semantics max_pool_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Window window = window_of(op.attributes, op.attributes.get_sizes("kernel"));
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    auto [binders, inside, body] = under_window(builder, window, op.inputs[0].shape, i);
    return maximum({{std::move(binders), std::move(inside), std::move(body)}});
  });
  return std::move(builder).finish();
}

/// Number of positions under the window that count, a factor for each dimension.
Expr window_count(SemanticsBuilder& builder, const OpInstance& op, const Window& window,
                  const Index& i) {
  const Sizes sizes = spatial_sizes(op.inputs[0].shape);
  const bool count_padding = op.attributes.get_int("count_include_pad") != 0;
  const bool may_overhang = op.attributes.get_int("ceil_mode") != 0;
  Expr count = number(1.0);
  for (std::size_t d = 0; d < window.rank(); ++d) {
    const Polynomial &begin = window.pads_begin[d], &end = window.pads_end[d];
    const bool padded = begin != Polynomial(0) || end != Polynomial(0);
    if (!may_overhang && (count_padding || !padded)) {
      count = count * size_value(window.kernel[d]);
      continue;
    }
    const Symbol k = builder.fresh();
    const Polynomial position = window_position(window, d, i[d + 2], k);
    const Polynomial low = count_padding ? -begin : Polynomial(0);
    const Polynomial high = count_padding ? sizes[d] + end : sizes[d];
    count = count * sum({{k, 0, window.kernel[d]}}, number(1.0),
                        {at_least(position, low), less(position, high)});
  }
  return count;
}

Semantics average_pool_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Window window = window_of(op.attributes, op.attributes.get_sizes("kernel"));
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    auto [binders, inside, body] = under_window(builder, window, op.inputs[0].shape, i);
    return sum(std::move(binders), std::move(body), std::move(inside)) *
           inverse(window_count(builder, op, window, i));
  });
  return std::move(builder).finish();
}

/// Whether a window could see padding alone, which our definitions exclude.
bool may_see_padding_only(const Attributes& attributes, const core::Dims& x,
                          std::span<const std::int64_t> kernel) {
  const auto pads = attributes.get_ints("pads"), dilations = attributes.get_ints("dilations");
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t far = dilations[d] * (kernel[d] - 1);
    if (pads[d] > far || pads[d + kernel.size()] > far) return true;
    if (dilations[d] > 1 && pads[d] != 0 && x[d + 2] < dilations[d]) return true;
  }
  return false;
}

/// Whether ceil_mode adds a window that begins behind the input and the padding before it. Since
/// opset 22 none does; before, ONNX and its runtimes disagree.
bool has_doubtful_window(const OnnxImport& import, const Attributes& attributes,
                         const core::Dims& x, std::span<const std::int64_t> kernel) {
  if (import.opset() >= 22 || attributes.get_int("ceil_mode") == 0) return false;
  const auto pads = attributes.get_ints("pads"), strides = attributes.get_ints("strides"),
             dilations = attributes.get_ints("dilations");
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t begin = x[d + 2] + pads[d], reach = dilations[d] * (kernel[d] - 1) + 1;
    const std::int64_t room = begin + pads[d + kernel.size()] - reach;
    const std::int64_t last = (room + strides[d] - 1) / strides[d] * strides[d];
    if (room >= 0 && last >= begin) return true;
  }
  return false;
}

ReadFunction read_pool(std::string op) {
  return [op = std::move(op)](OnnxImport& import) -> ReadResult {
    if (import.output_count() > 1) return cannot_read(import, "its second output, the indices");
    const core::Dims x = input_dims(import, 0);
    const auto kernel = import.ints("kernel_shape");
    if (!kernel || x.size() < 3) return bad_node(import, "no kernel_shape, or x is not [n, c, s…]");
    SOAPSTONE_ASSIGN_OR_RETURN(Attributes attributes,
                               read_window(import, std::span(x).subspan(2), *kernel));
    const bool automatic = import.text_or("auto_pad", "NOTSET") != "NOTSET";
    const std::int64_t count_all = import.int_or("count_include_pad", 0);
    if (may_see_padding_only(attributes, x, *kernel) && (op == "max_pool" || count_all == 0))
      return cannot_read(import, "a window can lie in the padding");
    attributes.set("kernel", to_sizes(*kernel));
    // Automatic padding makes the last window end exactly where the input does.
    attributes.set("ceil_mode", Polynomial(automatic ? 0 : import.int_or("ceil_mode", 0)));
    if (has_doubtful_window(import, attributes, x, *kernel))
      return cannot_read(import, "a window begins in the padding");
    if (op == "average_pool") attributes.set("count_include_pad", Polynomial(count_all));
    return import.append(op, {import.input(0)}, std::move(attributes));
  };
}

/// How a pool is written: opsets differ in what its windows may do.
struct PoolForm {
  core::Dims kernel, strides, dilations, pads;
  bool ceil = false;
  bool count_padding = false;
};

PoolForm form_of(const Attributes& attributes) {
  PoolForm form{attributes.get_ints("kernel"), attributes.get_ints("strides"),
                attributes.get_ints("dilations"), attributes.get_ints("pads")};
  form.ceil = attributes.get_int("ceil_mode") != 0;
  const core::AttributeValue* count = attributes.find("count_include_pad");
  form.count_padding = count && attributes.get_int("count_include_pad") != 0;
  return form;
}

bool is_dilated(const PoolForm& form) {
  return std::ranges::any_of(form.dilations, [](std::int64_t d) { return d != 1; });
}

/// By how much the last windows reach beyond the padding, in each dimension. Forgets ceil_mode
/// where it adds no window.
core::Dims overhang(PoolForm& form, std::span<const std::int64_t> x,
                    std::span<const std::int64_t> y) {
  core::Dims beyond;
  bool adds = false;
  for (std::size_t d = 0; d < form.kernel.size(); ++d) {
    const std::int64_t reach = (form.kernel[d] - 1) * form.dilations[d] + 1;
    const std::int64_t last = (y[d] - 1) * form.strides[d] + reach;
    const std::int64_t padded = x[d] + form.pads[d] + form.pads[form.kernel.size() + d];
    beyond.push_back(std::max<std::int64_t>(last - padded, 0));
    adds |= y[d] != (padded - reach) / form.strides[d] + 1;
  }
  form.ceil = form.ceil && adds;
  return beyond;
}

/// Zeros around the tensor, which then count as elements.
std::string pad_explicitly(Emitter& emitter, PoolForm& form) {
  std::vector<std::int64_t> pads(2 * form.kernel.size() + 4, 0);
  for (std::size_t d = 0; d < form.kernel.size(); ++d) {
    pads[d + 2] = form.pads[d];
    pads[form.kernel.size() + d + 4] = form.pads[form.kernel.size() + d];
  }
  std::ranges::fill(form.pads, 0);
  form.count_padding = false;
  return emitter.pad(emitter.operand(0), pads, 0);
}

/// ceil_mode came with opset 10, as did dilations of maxima; those of means came with 19. Padding
/// that reaches as far as the windows do has the same effect, unless it counts.
core::Status write_pool(OnnxExport& out, const std::string& onnx, int dilations_since) {
  Emitter emitter(out);
  PoolForm form = form_of(emitter.attributes());
  if (is_dilated(form) && out.opset() < dilations_since)
    return cannot_write(out,
                        fmt::format("{} has no dilations before opset {}", onnx, dilations_since));
  const core::Dims x = emitter.dims(0);
  const core::Dims y = *core::concrete(out.graph().tensor(out.node().outputs[0]).type.shape);
  const core::Dims beyond = overhang(form, std::span(x).subspan(2), std::span(y).subspan(2));
  const bool overhangs = std::ranges::any_of(beyond, [](std::int64_t n) { return n > 0; });
  std::string input = emitter.input(0);
  // Opsets and runtimes disagree on whether what lies beyond counted padding counts.
  if (overhangs && form.count_padding) input = pad_explicitly(emitter, form);
  if (out.opset() < 10 && overhangs)
    for (std::size_t d = 0; d < beyond.size(); ++d) form.pads[beyond.size() + d] += beyond[d];
  OnnxAttributes attributes{
      {"kernel_shape", form.kernel}, {"strides", form.strides}, {"pads", form.pads}};
  if (out.opset() >= dilations_since) attributes.emplace_back("dilations", form.dilations);
  if (out.opset() >= 10) attributes.emplace_back("ceil_mode", std::int64_t{form.ceil});
  if (onnx == "AveragePool")
    attributes.emplace_back("count_include_pad", std::int64_t{form.count_padding});
  return emitter.finish(onnx, {input}, std::move(attributes));
}

core::Status write_max_pool(OnnxExport& out) { return write_pool(out, "MaxPool", 10); }

core::Status write_average_pool(OnnxExport& out) { return write_pool(out, "AveragePool", 19); }

std::vector<core::AttributeSchema> pool_attributes(bool average) {
  std::vector<core::AttributeSchema> attributes = window_attributes();
  attributes.push_back({"kernel", AttributeRole::kWindow, std::nullopt, {Sizes{3, 3}}});
  attributes.push_back({"ceil_mode", AttributeRole::kFlag, Polynomial(0), {Polynomial(0)}});
  if (average)
    attributes.push_back({"count_include_pad",
                          AttributeRole::kCountsPad,
                          Polynomial(0),
                          {Polynomial(0), Polynomial(1)}});
  return attributes;
}

OpDefinition max_pool() {
  return OpDefinition({
      .name = "max_pool",
      .equation = "x[n,c,s…] → y[n,c,s'…] = max over k… of x[n, c, s'·stride + k·dilation − pad]",
      .attributes = pool_attributes(false),
      .inputs = Arity(1, 1),
      .op_class = OpClass::kReduction,
      .operands = {OperandRole::kImage},
      .infer = infer_pool("max_pool", Elements::kNumbers),
      .semantics = max_pool_semantics,
      .onnx = OnnxMapping{{reader("MaxPool", Elements::kNumbers, read_pool("max_pool"))},
                          write_max_pool},
  });
}

OpDefinition average_pool() {
  return OpDefinition({
      .name = "average_pool",
      .equation = "x[n,c,s…] → y[n,c,s'…] = Σ over k… of x[n, c, s'·stride + k·dilation − pad] / "
                  "number of positions that count",
      .attributes = pool_attributes(true),
      .inputs = Arity(1, 1),
      .op_class = OpClass::kReduction,
      .operands = {OperandRole::kImage},
      .infer = infer_pool("average_pool", Elements::kFloating),
      .semantics = average_pool_semantics,
      .onnx = OnnxMapping{{reader("AveragePool", Elements::kFloating, read_pool("average_pool"))},
                          write_average_pool},
      .averages = true,
  });
}

std::vector<TensorType> infer_global(InferContext& c) {
  if (!require_elements(c, "global_average_pool", Elements::kFloating) ||
      !c.require(c.rank(0) >= 3, "global_average_pool.rank", "x must be [n, c, s…]"))
    return {};
  Shape result(c.rank(0), 1);
  result[0] = c.shape(0)[0];
  result[1] = c.shape(0)[1];
  return {{c.input(0).data_type, std::move(result)}};
}

Semantics global_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Sizes sizes = spatial_sizes(op.inputs[0].shape);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    Index element{i[0], i[1]};
    std::vector<Binder> binders;
    for (const Polynomial& size : sizes) {
      binders.push_back({builder.fresh(), 0, size});
      element.push_back(binders.back().variable);
    }
    return sum(std::move(binders), read(0, std::move(element))) *
           inverse(size_value(product(sizes)));
  });
  return std::move(builder).finish();
}

OpDefinition global_average_pool() {
  const std::string name = "global_average_pool";
  return OpDefinition({
      .name = name,
      .equation = "x[n,c,s…] → y[n,c,1…] = mean over s… of x[n,c,s…]",
      .attributes = std::vector<core::AttributeSchema>{},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kReduction,
      .operands = {OperandRole::kImage},
      .infer = infer_global,
      .semantics = global_semantics,
      .onnx = OnnxMapping{{reader("GlobalAveragePool", Elements::kFloating, read_same(name))},
                          write_same("GlobalAveragePool")},
      .averages = true,
  });
}

}  // namespace

std::vector<OpDefinition> pool_ops() { return {max_pool(), average_pool(), global_average_pool()}; }

}  // namespace soapstone::ops
