// Comprehensions on exact integers, the third scalar beside doubles and the prime field: sizes,
// axes and indices that a model computes are evaluated with it while the model is read.
#pragma once

#include <optional>

#include "ops/evaluation/evaluate.h"

namespace soapstone::ops {

/// An integer without rounding or wrap-around. The 128 bits hold whatever one operator computes of
/// 64-bit elements on the way to its result, so that a result that does not fit its element type
/// is seen and not wrapped: ONNX does not say what an overflow yields.
__extension__ typedef __int128 Integer;

/// Stands for what has no value in integers: x/0, 1/2, 2^-1, exp(2), a number beyond 128 bits. What
/// is computed of it has no value either, unless `select` takes the other branch.
inline constexpr Integer kNoInteger = Integer{1} << 127;

/// Whether an element of that type can be the value: false for types that are no integers'.
bool fits(Integer value, core::DataType type);

/// The elements of a constant; none if they are no integers.
std::optional<std::vector<Integer>> to_integers(const core::Literal& literal);
/// A constant of these elements; none if one of them does not fit the type.
/// Precondition: an integer type or bool, and as many values as `dims` says.
std::optional<core::Literal> to_literal(core::DataType type, const core::Dims& dims,
                                        std::span<const Integer> values);

extern template class CompiledSemantics<Integer>;

/// Further errors: kUnsupported if the graph holds reals, or if a result has no value or one that
/// its element type cannot hold.
extern template class GraphProgram<Integer>;

extern template core::Result<std::vector<std::vector<Integer>>>
evaluate_graph(const core::Graph&, std::span<const std::vector<Integer>>, std::uint64_t);

}  // namespace soapstone::ops
