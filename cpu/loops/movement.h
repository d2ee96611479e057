// Operators that move elements and compute nothing, as lists of strided copies.
#pragma once

#include <optional>
#include <vector>

#include "cpu/base/kernel_request.h"
#include "cpu/primitives/strided_copy.h"

namespace soapstone::cpu {

struct Copy {
  std::size_t input;   ///< Number in Launch::inputs.
  std::size_t output;  ///< Number in Launch::outputs.
  CopyBox box;
};

struct Movement {
  std::vector<Copy> copies;
  std::optional<double> fill;  ///< Value of all elements that no copy writes.
};

/// None: the head of the launch does more than move.
std::optional<Movement> movement_of(const KernelRequest& request);

}  // namespace soapstone::cpu
