// Sliding windows. Kernel sizes, paddings and all tensor sizes may be symbols; strides and
// dilations are numbers, so that positions stay affine.
#include "ops/parts/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/language/size_limits.h"

namespace soapstone::ops {

using core::AttributeRole;
using core::AttributeValue;

std::vector<Polynomial> spatial_sizes(const Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

std::vector<core::AttributeSchema> window_attributes() {
  return {
      {"strides", AttributeRole::kStride, Sizes{1, 1}, {Sizes{1, 1}, Sizes{2, 2}}},
      {"pads", AttributeRole::kPad, Sizes{0, 0, 0, 0}, {Sizes{0, 0, 0, 0}, Sizes{1, 1, 1, 1}}},
      {"dilations", AttributeRole::kDilation, Sizes{1, 1}, {Sizes{1, 1}}},
  };
}

std::optional<Window> require_window(InferContext& context, std::string_view op, Sizes kernel) {
  const auto strides = require_ints(context, op, "strides");
  const auto dilations = require_ints(context, op, "dilations");
  if (!strides || !dilations) return std::nullopt;
  const Sizes& pads = context.attributes().get_sizes("pads");
  const std::size_t rank = kernel.size();
  const auto positive = [](std::int64_t value) { return value >= 1; };
  const bool fine =
      context.require(
          strides->size() == rank && dilations->size() == rank && pads.size() == 2 * rank,
          label(op, "window_rank"),
          fmt::format("{} spatial dimensions need as many strides and dilations and twice as many "
                      "pads; given are {}, {} and {}",
                      rank, strides->size(), dilations->size(), pads.size())) &&
      context.require(std::ranges::all_of(*strides, positive), label(op, "strides"),
                      "strides must be 1 or more") &&
      context.require(std::ranges::all_of(*dilations, positive), label(op, "dilations"),
                      "dilations must be 1 or more");
  if (!fine) return std::nullopt;
  for (const Polynomial& size : kernel)
    if (!context.require_at_least(size, 1, label(op, "kernel"))) return std::nullopt;
  for (const Polynomial& pad : pads)
    if (!context.require_at_least(pad, 0, label(op, "pads"))) return std::nullopt;
  return window_of(context.attributes(), std::move(kernel));
}

Window window_of(const Attributes& attributes, Sizes kernel) {
  const Sizes& pads = attributes.get_sizes("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(kernel.size());
  Window window;
  window.kernel = std::move(kernel);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  window.strides = attributes.get_ints("strides");
  window.dilations = attributes.get_ints("dilations");
  return window;
}

namespace {

bool all_within(std::span<const std::int64_t> values, std::int64_t least) {
  return std::ranges::all_of(values,
                             [&](std::int64_t v) { return v >= least && v <= kLargestSize; });
}

/// Distance from the first to the last position of a window.
Polynomial reach(const Window& window, std::size_t d) {
  return window.dilations[d] * (window.kernel[d] - 1);
}

}  // namespace

std::optional<Shape> require_window_fits(InferContext& context, std::string_view op,
                                         const Window& window, std::span<const Polynomial> spatial,
                                         bool ceil_mode) {
  Shape result;
  for (std::size_t d = 0; d < window.rank(); ++d) {
    const std::int64_t stride = window.strides[d];
    const Polynomial begin = spatial[d] + window.pads_begin[d];
    const Polynomial room = begin + window.pads_end[d] - reach(window, d) - 1;
    if (!context.require_at_least(room, 0, label(op, "window_fits"))) return std::nullopt;
    if (!ceil_mode || stride == 1) {
      result.push_back(context.floor_div(room, stride) + 1);
      continue;
    }
    // The smaller of: windows until the last element is covered, windows that begin early enough.
    const Polynomial covering = context.ceil_div(room, stride) + 1;
    const Polynomial beginning = context.floor_div(begin - 1, stride) + 1;
    result.push_back(covering - context.max_zero(covering - beginning));
  }
  return result;
}

bool require_no_empty_window(InferContext& context, std::string_view op, const Window& window,
                             std::span<const Polynomial> spatial) {
  const std::string name = label(op, "padding");
  for (std::size_t d = 0; d < window.rank(); ++d) {
    const Polynomial far = reach(window, d);
    if (!context.require_at_least(far, window.pads_begin[d], name) ||
        !context.require_at_least(far, window.pads_end[d], name))
      return false;
    // A dilated window that begins in the padding must not step over the whole input.
    if (window.dilations[d] > 1 && window.pads_begin[d] != Polynomial(0) &&
        !context.require_at_least(spatial[d], window.dilations[d], name))
      return false;
  }
  return true;
}

Polynomial window_position(const Window& window, std::size_t d, const Polynomial& output,
                           const Polynomial& element) {
  return output * window.strides[d] + element * window.dilations[d] - window.pads_begin[d];
}

std::vector<Binder> window_binders(SemanticsBuilder& builder, const Window& window) {
  std::vector<Binder> binders;
  for (const Polynomial& size : window.kernel) binders.push_back({builder.fresh(), 0, size});
  return binders;
}

Index window_index(const Window& window, std::span<const Polynomial> output,
                   std::span<const Binder> element) {
  Index index;
  for (std::size_t d = 0; d < window.rank(); ++d)
    index.push_back(window_position(window, d, output[d], element[d].variable));
  return index;
}

std::vector<Constraint> within(std::span<const Polynomial> index,
                               std::span<const Polynomial> sizes) {
  std::vector<Constraint> constraints;
  for (std::size_t d = 0; d < index.size(); ++d) {
    constraints.push_back(at_least(index[d], 0));
    constraints.push_back(less(index[d], sizes[d]));
  }
  return constraints;
}

core::Result<Attributes> read_window(const OnnxImport& import,
                                     std::span<const std::int64_t> spatial,
                                     std::span<const std::int64_t> kernel) {
  const std::size_t rank = kernel.size();
  auto strides = import.ints("strides").value_or(std::vector<std::int64_t>(rank, 1));
  auto dilations = import.ints("dilations").value_or(std::vector<std::int64_t>(rank, 1));
  auto pads = import.ints("pads").value_or(std::vector<std::int64_t>(2 * rank, 0));
  const std::string mode = import.text_or("auto_pad", "NOTSET");
  if (spatial.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || !all_within(strides, 1) || !all_within(dilations, 1) ||
      !all_within(pads, 0) || !all_within(kernel, 1) || !all_within(spatial, 0))
    return bad_node(import, "strides, dilations, pads or kernel do not fit the input");
  if (mode == "VALID" && import.int_or("ceil_mode", 0) != 0)
    return cannot_read(import, "auto_pad VALID together with ceil_mode");
  if (mode == "VALID") std::ranges::fill(pads, 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t outputs = (spatial[d] + strides[d] - 1) / strides[d];
      const std::int64_t covered = (outputs - 1) * strides[d] + dilations[d] * (kernel[d] - 1) + 1;
      // A convolution leaves out the end of the input. For pools, runtimes do not agree.
      if (covered < spatial[d] && import.op_type().ends_with("Pool"))
        return cannot_read(import, "auto_pad with windows that do not reach the end of the input");
      const std::int64_t total = std::max<std::int64_t>(covered - spatial[d], 0);
      pads[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[rank + d] = total - pads[d];
    }
  } else if (mode != "NOTSET" && mode != "VALID") {
    return bad_node(import, fmt::format("unknown auto_pad '{}'", mode));
  }
  return Attributes{
      {"strides", to_sizes(strides)}, {"dilations", to_sizes(dilations)}, {"pads", to_sizes(pads)}};
}

OnnxAttributes write_window(const Attributes& attributes) {
  return {{"strides", attributes.get_ints("strides")},
          {"dilations", attributes.get_ints("dilations")},
          {"pads", attributes.get_ints("pads")}};
}

}  // namespace soapstone::ops
