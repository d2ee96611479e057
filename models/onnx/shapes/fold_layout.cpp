// Folding of operators that rearrange elements without computing anything.
#include <algorithm>
#include <numeric>

#include "models/onnx/shapes/fold_values.h"

namespace soapstone::models::folding {
namespace {

using core::Dims;
using Sources = std::vector<std::size_t>;

/// The same elements in the same order under other dimensions.
Outputs reshaped(const Values& x, Dims dims) {
  const auto count = bearable_count(dims);
  if (!count || *count != x.count()) return std::nullopt;
  Values result = x;
  result.dims = std::move(dims);
  return std::vector{std::move(result)};
}

Outputs fold_identity(const FoldNode& node) { return std::vector{node.input(0)}; }

Outputs fold_reshape(const FoldNode& node) {
  const auto target = node.ints("shape", 1);
  if (!target) return std::nullopt;
  const Values& x = node.input(0);
  const bool keep_zeros = node.int_or("allowzero", 0) != 0;
  Dims dims = *target;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keep_zeros) {
      if (i >= x.dims.size()) return std::nullopt;
      dims[i] = x.dims[i];
    } else if (dims[i] == -1) {
      if (open) return std::nullopt;
      open = i;
      dims[i] = 1;
    }
  }
  if (open) {
    const auto rest = bearable_count(dims);
    if (!rest || *rest == 0) return std::nullopt;
    dims[*open] = static_cast<std::int64_t>(x.count() / *rest);
  }
  return reshaped(x, std::move(dims));
}

Outputs fold_flatten(const FoldNode& node) {
  const Dims& dims = node.input(0).dims;
  const std::int64_t given = node.int_or("axis", 1);
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (given < -rank || given > rank) return std::nullopt;
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  return reshaped(node.input(0), {product(dims, 0, axis), product(dims, axis, dims.size())});
}

Outputs fold_unsqueeze(const FoldNode& node) {
  const auto given = node.ints("axes", 1);
  if (!given) return std::nullopt;
  Dims dims = node.input(0).dims;
  const auto axes = normal_axes(*given, dims.size() + given->size());
  if (!axes) return std::nullopt;
  for (std::size_t axis : *axes) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return reshaped(node.input(0), std::move(dims));
}

Outputs fold_squeeze(const FoldNode& node) {
  const Dims& dims = node.input(0).dims;
  const auto given = node.ints("axes", 1);
  std::optional<std::vector<std::size_t>> axes = std::vector<std::size_t>();
  if (given) axes = normal_axes(*given, dims.size());
  if (!axes) return std::nullopt;
  Dims kept;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool drop = given ? std::binary_search(axes->begin(), axes->end(), i) : dims[i] == 1;
    if (drop && dims[i] != 1) return std::nullopt;
    if (!drop) kept.push_back(dims[i]);
  }
  return reshaped(node.input(0), std::move(kept));
}

Outputs fold_gather(const FoldNode& node) {
  if (!node.has(1) || node.input(1).is_real()) return std::nullopt;
  const Values &data = node.input(0), &indices = node.input(1);
  const auto axis = normal_axis(node.int_or("axis", 0), data.dims.size());
  if (!axis) return std::nullopt;
  const std::int64_t size = data.dims[*axis];
  const std::int64_t outer = product(data.dims, 0, *axis);
  const std::int64_t inner = product(data.dims, *axis + 1, data.dims.size());
  Dims dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(*axis) + 1,
              data.dims.end());
  if (!bearable_count(dims)) return std::nullopt;
  Sources sources;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t index : indices.ints) {
      if (index < -size || index >= size) return std::nullopt;
      const std::int64_t row = o * size + (index < 0 ? index + size : index);
      for (std::int64_t i = 0; i < inner; ++i) {
        sources.push_back(static_cast<std::size_t>(row * inner + i));
      }
    }
  }
  return std::vector{take(data, std::move(dims), sources)};
}

Outputs fold_concat(const FoldNode& node) {
  const Values& first = node.input(0);
  const auto axis = normal_axis(node.int_or("axis", 0), first.dims.size());
  if (!axis) return std::nullopt;
  Values result{first.type, first.dims, {}, {}};
  result.dims[*axis] = 0;
  for (std::size_t k = 0; k < node.input_count(); ++k) {
    if (!node.has(k) || node.input(k).type != first.type) return std::nullopt;
    Dims rest = node.input(k).dims;
    if (rest.size() != first.dims.size()) return std::nullopt;
    result.dims[*axis] += rest[*axis];
    rest[*axis] = first.dims[*axis];
    if (rest != first.dims) return std::nullopt;
  }
  if (!bearable_count(result.dims)) return std::nullopt;
  const auto outer = static_cast<std::size_t>(product(result.dims, 0, *axis));
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t k = 0; k < node.input_count(); ++k) {
      const std::size_t chunk = node.input(k).count() / outer;
      append(result, node.input(k), o * chunk, (o + 1) * chunk);
    }
  }
  return std::vector{std::move(result)};
}

Outputs fold_expand(const FoldNode& node) {
  const auto shape = node.ints("", 1);
  if (!shape) return std::nullopt;
  const Values& x = node.input(0);
  const auto dims = broadcast(x.dims, *shape);
  if (!dims || !bearable_count(*dims)) return std::nullopt;
  return std::vector{take(x, *dims, broadcast_sources(x.dims, *dims))};
}

Outputs fold_transpose(const FoldNode& node) {
  const Values& x = node.input(0);
  std::vector<std::int64_t> reversed(x.dims.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto perm = node.ints("perm", SIZE_MAX).value_or(reversed);
  if (perm.size() != x.dims.size() || !normal_axes(perm, perm.size())) return std::nullopt;
  const auto strides = row_major_strides(x.dims);
  Dims dims;
  std::vector<std::size_t> permuted;
  for (std::int64_t axis : perm) {
    const std::size_t from = *normal_axis(axis, perm.size());
    dims.push_back(x.dims[from]);
    permuted.push_back(strides[from]);
  }
  Sources sources;
  each_index(dims, [&](const Dims& at) {
    std::size_t source = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      source += static_cast<std::size_t>(at[i]) * permuted[i];
    sources.push_back(source);
  });
  return std::vector{take(x, std::move(dims), sources)};
}

}  // namespace

FoldFunction find_layout(std::string_view op_type) {
  static constexpr std::pair<std::string_view, FoldFunction> kTable[] = {
      {"Identity", fold_identity},   {"Reshape", fold_reshape}, {"Flatten", fold_flatten},
      {"Unsqueeze", fold_unsqueeze}, {"Squeeze", fold_squeeze}, {"Gather", fold_gather},
      {"Concat", fold_concat},       {"Expand", fold_expand},   {"Transpose", fold_transpose},
  };
  for (const auto& [name, function] : kTable) {
    if (name == op_type) return function;
  }
  return nullptr;
}

}  // namespace soapstone::models::folding
