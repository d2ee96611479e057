// Index arithmetic that the meanings of several operator families share. It works on symbolic
// sizes: a size is only ever compared with the literal 1 of broadcasting.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// One position of a tensor; each coordinate may depend on index variables and sizes.
using Index = std::vector<Polynomial>;

/// 1 if there are none.
Polynomial product(std::span<const Polynomial> factors);
/// None if it overflows.
std::optional<Polynomial> checked_product(std::span<const Polynomial> factors);

/// An integer as an element: a number where it is one, so that fractions of sizes can be reduced.
Expr size_value(const Polynomial& size);

/// The index at which an input is read for an element of a NumPy-broadcast result: leading
/// coordinates are dropped, and dimensions of literal size 1 are read at 0.
Index broadcast_index(const Shape& input, const Index& index);
Expr read_broadcast(std::uint32_t tensor, const Shape& input, const Index& index);

/// An index into `size` elements, of which −1 is the last: itself, or size more if it is negative.
Expr wrapped_index(Expr index, const Polynomial& size);

/// Row-major number of the element at `index`.
Polynomial flat_position(const Shape& shape, const Index& index);

/// value / divisor if every coefficient is a multiple of it, else none.
std::optional<Polynomial> divide_exactly(const Polynomial& value, std::int64_t divisor);

/// The elements whose position is not in `dropped` (ascending).
std::vector<Polynomial> without(const std::vector<Polynomial>& values,
                                std::span<const std::size_t> dropped);

std::vector<Polynomial> to_sizes(std::span<const std::int64_t> values);

}  // namespace soapstone::ops
