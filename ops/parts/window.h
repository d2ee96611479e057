// The sliding window of convolutions and pools over the spatial dimensions of [n, c, s…]: its
// attributes, the sizes that result, the input position under each of its elements, and its ONNX
// form with automatic padding.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/definition/indexing.h"
#include "ops/definition/infer_context.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {

struct Window {
  std::vector<Polynomial> kernel, pads_begin, pads_end;
  std::vector<std::int64_t> strides, dilations;
  std::size_t rank() const { return kernel.size(); }
};

/// The sizes of an image behind batch and channels, over which windows slide.
std::vector<Polynomial> spatial_sizes(const Shape& shape);

/// Schemas of `strides`, `pads` and `dilations`; the defaults are those of two dimensions.
std::vector<core::AttributeSchema> window_attributes();

/// The window that the attributes describe, or none after a failure.
/// Labels: `<op>.window_rank`, `.strides`, `.dilations`, `.kernel`, `.pads`, `.concrete`.
std::optional<Window> require_window(InferContext& context, std::string_view op,
                                     std::vector<Polynomial> kernel);
/// The same, of attributes that passed.
Window window_of(const Attributes& attributes, std::vector<Polynomial> kernel);

/// Output sizes. With `ceil_mode`, windows that begin behind the input and its left padding do not
/// count. Label: `<op>.window_fits`.
std::optional<Shape> require_window_fits(InferContext& context, std::string_view op,
                                         const Window& window, std::span<const Polynomial> spatial,
                                         bool ceil_mode);
/// No window sees padding alone, so that every maximum and mean has an element.
/// Label: `<op>.padding`.
bool require_no_empty_window(InferContext& context, std::string_view op, const Window& window,
                             std::span<const Polynomial> spatial);

/// Input coordinate in spatial dimension d under the window's element.
Polynomial window_position(const Window& window, std::size_t d, const Polynomial& output,
                           const Polynomial& element);
/// One binder for each spatial dimension, over the kernel.
std::vector<Binder> window_binders(SemanticsBuilder& builder, const Window& window);
/// Input coordinates under the window's element, for the output coordinates given.
Index window_index(const Window& window, std::span<const Polynomial> output,
                   std::span<const Binder> element);
/// All coordinates are within the input: what lies outside is padding.
std::vector<Constraint> within(std::span<const Polynomial> index,
                               std::span<const Polynomial> sizes);

/// Attributes `strides`, `dilations` and `pads` of an ONNX node, automatic padding made explicit.
/// Errors: kUnsupported for padding that depends on how VALID and ceil_mode are understood.
core::Result<Attributes> read_window(const OnnxImport& import,
                                     std::span<const std::int64_t> spatial,
                                     std::span<const std::int64_t> kernel);
OnnxAttributes write_window(const Attributes& attributes);

}  // namespace soapstone::ops
