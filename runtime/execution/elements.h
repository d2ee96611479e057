// Elements of any numeric type and layout, as doubles and back. Slow and general: what the
// reference kernels stand on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/launches/layout.h"

namespace soapstone::runtime {

/// Row-major doubles of a tensor that lies at `bytes` in `layout`.
/// Precondition: numeric type and shape.
std::vector<double> load_elements(const core::TensorType& type, Layout layout,
                                  const std::byte* bytes);
/// The reverse. Integers are truncated and saturate; anything but 0 is a true bool.
void store_elements(const core::TensorType& type, Layout layout, std::span<const double> values,
                    std::byte* bytes);

/// Copies elements of `element_bytes` each from one set of strides to another.
void copy_strided(const core::Dims& dims, std::size_t element_bytes, const std::byte* from,
                  const core::Dims& from_strides, std::byte* to, const core::Dims& to_strides);

}  // namespace soapstone::runtime
