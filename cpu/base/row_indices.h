// Indices that pick rows of a table, as ONNX counts them: negative ones from the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/base/result.h"

namespace soapstone::cpu {

/// Errors: kInvalidInput, with `what`, at the first index outside of [−size, size).
template <class Index>
core::Status check_indices(std::string_view what, std::span<const Index> indices,
                           std::int64_t size) {
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < -size || indices[i] >= size)
      return core::invalid_input(
          fmt::format("{}: index {} (element {} of the indices) is not in [{}, {})", what,
                      indices[i], i, -size, size));
  return core::Done{};
}

/// The row of an index that was checked.
template <class Index>
std::size_t row_of(Index index, std::int64_t size) {
  const auto row = static_cast<std::int64_t>(index);
  return static_cast<std::size_t>(row < 0 ? row + size : row);
}

}  // namespace soapstone::cpu
