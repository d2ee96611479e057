// Folding of operators that cut tensors up or repeat them.
#include <algorithm>
#include <numeric>

#include "models/onnx/shapes/fold_values.h"

namespace soapstone::models::folding {
namespace {

using core::Dims;
using Sources = std::vector<std::size_t>;

struct AxisSlice {
  std::int64_t start = 0, size = 0, step = 1;
};

/// Ends are clamped to the tensor, as ONNX says; INT64_MAX is a common way to write "to the end".
AxisSlice clamp_slice(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  const auto place = [&](std::int64_t index) {
    if (index < 0) index = index < -size ? lowest : index + size;
    return std::clamp(index, lowest, std::max(lowest, highest));
  };
  AxisSlice slice{place(start), 0, step};
  if (step < 0 && start < -size) slice.start = 0;
  const std::int64_t distance = place(end) - slice.start;
  if (step > 0 && distance > 0) slice.size = (distance - 1) / step + 1;
  if (step < 0 && distance < 0) slice.size = (distance + 1) / step + 1;
  return slice;
}

Outputs fold_slice(const FoldNode& node) {
  const Values& x = node.input(0);
  const auto starts = node.ints("starts", 1), ends = node.ints("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  std::vector<std::int64_t> all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = node.ints("axes", 3).value_or(all);
  const auto steps = node.ints("steps", 4).value_or(std::vector<std::int64_t>(all.size(), 1));
  if (axes.size() != all.size() || steps.size() != all.size()) return std::nullopt;
  std::vector<AxisSlice> slices;
  for (std::int64_t dim : x.dims) slices.push_back({0, dim, 1});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = normal_axis(axes[i], x.dims.size());
    if (!axis || steps[i] == 0 || steps[i] == INT64_MIN) return std::nullopt;
    slices[*axis] = clamp_slice((*starts)[i], (*ends)[i], steps[i], x.dims[*axis]);
  }
  Dims dims;
  for (const AxisSlice& slice : slices) dims.push_back(slice.size);
  const auto strides = row_major_strides(x.dims);
  Sources sources;
  each_index(dims, [&](const Dims& at) {
    std::size_t source = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      source += static_cast<std::size_t>(slices[i].start + at[i] * slices[i].step) * strides[i];
    }
    sources.push_back(source);
  });
  return std::vector{take(x, std::move(dims), sources)};
}

Outputs fold_tile(const FoldNode& node) {
  const auto repeats = node.ints("", 1);
  const Values& x = node.input(0);
  if (!repeats || repeats->size() != x.dims.size()) return std::nullopt;
  Dims dims = x.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*repeats)[i] < 0 || __builtin_mul_overflow(dims[i], (*repeats)[i], &dims[i])) return {};
  }
  if (!bearable_count(dims)) return std::nullopt;
  const auto strides = row_major_strides(x.dims);
  Sources sources;
  each_index(dims, [&](const Dims& at) {
    std::size_t source = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      source += static_cast<std::size_t>(at[i] % x.dims[i]) * strides[i];
    }
    sources.push_back(source);
  });
  return std::vector{take(x, std::move(dims), sources)};
}

Outputs fold_split(const FoldNode& node) {
  const Values& x = node.input(0);
  const auto axis = normal_axis(node.int_or("axis", 0), x.dims.size());
  if (!axis) return std::nullopt;
  auto sizes = node.ints("split", 1);
  if (!sizes) {
    const auto parts = static_cast<std::int64_t>(node.output_count());
    const std::int64_t chunk = (x.dims[*axis] + parts - 1) / parts;
    sizes = std::vector<std::int64_t>(node.output_count(), chunk);
    sizes->back() = x.dims[*axis] - chunk * (parts - 1);
  }
  if (std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0}) != x.dims[*axis]) return {};
  const auto outer = static_cast<std::size_t>(product(x.dims, 0, *axis));
  const auto inner = static_cast<std::size_t>(product(x.dims, *axis + 1, x.dims.size()));
  const std::size_t row = static_cast<std::size_t>(x.dims[*axis]) * inner;
  std::vector<Values> results;
  std::size_t begin = 0;
  for (std::int64_t size : *sizes) {
    if (size < 0 || begin + static_cast<std::size_t>(size) * inner > row) return std::nullopt;
    Values part{x.type, x.dims, {}, {}};
    part.dims[*axis] = size;
    const std::size_t length = static_cast<std::size_t>(size) * inner;
    for (std::size_t o = 0; o < outer; ++o)
      append(part, x, o * row + begin, o * row + begin + length);
    begin += length;
    results.push_back(std::move(part));
  }
  return results;
}

}  // namespace

FoldFunction find_slicing(std::string_view op_type) {
  if (op_type == "Slice") return fold_slice;
  if (op_type == "Tile") return fold_tile;
  if (op_type == "Split") return fold_split;
  return nullptr;
}

}  // namespace soapstone::models::folding
