// Comprehensions whose inputs are known, as constants.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "models/onnx/shapes/integer_meanings.h"

namespace soapstone::models {

/// Larger results are left to run time.
inline constexpr std::int64_t kMostFoldedElements = 1 << 22;

/// None: a value is not known, or the element type cannot hold it exactly.
using KnownValues = std::optional<std::vector<core::LiteralPtr>>;

/// The outputs of a graph without inputs: in exact integers, or where reals take part in doubles,
/// which are rounded to their type at the end.
KnownValues known_values(const core::Graph& graph);
KnownValues known_values(const IntegerMeaning& meaning, std::span<const core::LiteralPtr> inputs);

/// The integers of a constant as elements of another type, or null if one of them does not fit.
core::LiteralPtr converted(const core::Literal& literal, core::DataType type);

}  // namespace soapstone::models
