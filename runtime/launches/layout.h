// How the elements of a tensor lie in memory, and what follows from it: strides, when two layouts
// are the same bytes, when a part of a tensor is one contiguous piece of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/tensor_type.h"

namespace soapstone::runtime {

/// kChannelsLast is for rank ≥ 3: dimension 1 is innermost, the others keep their order. There
/// are no blocked layouts: no kernel that we measured is faster by more than a tenth with one, and
/// with these two a tensor has the same size in every layout.
enum class Layout : std::uint8_t { kRowMajor, kChannelsLast };
std::string_view to_string(Layout layout);

/// `layout`, or kRowMajor where both are the same bytes (one channel, one pixel, rank below 3).
/// Plans hold canonical layouts only.
Layout canonical(const core::TensorType& type, Layout layout);

/// Elements between neighbors in each dimension.
core::Dims strides_of(const core::Dims& dims, Layout layout);
/// The dimensions from outermost to innermost in memory.
std::vector<std::size_t> memory_order(std::size_t rank, Layout layout);
/// True if a range of indices of `axis`, all else whole, is one contiguous piece.
bool is_outermost(const core::TensorType& type, Layout layout, std::size_t axis);

/// Bytes of the tensor, in any layout. Precondition: numeric shape.
std::size_t storage_bytes(const core::TensorType& type);
/// The numbers of a shape without a detour. Precondition: numeric shape.
core::Dims dims_of(const core::TensorType& type);

}  // namespace soapstone::runtime
