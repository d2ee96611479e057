// From numbers in a rule to symbols: strides, pads and kernel sizes that were tried stand for all.
#pragma once

#include "core/base/result.h"
#include "generator/terms/term.h"

namespace soapstone::generator {

/// Selects the numbers that become symbols.
struct Parametrize {
  bool kernel_sizes = false;  ///< Numbers in shapes of inputs, except 1.
  bool ones = false;          ///< With them, 1 where a kernel has its window.
  bool windows = false;       ///< Strides, dilations, kernels: equal lists get equal symbols.
  bool pads = false;
  bool perms = false;  ///< The orders of dimensions that transposes have.
  bool operator==(const Parametrize&) const = default;
};

/// Types of results are left open. Whether it still holds is not looked at.
/// Errors: kInvalidInput if there is nothing to replace.
core::Result<Sides> parametrized(const Sides& sides, const Parametrize& what);

}  // namespace soapstone::generator
