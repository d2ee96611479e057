// Made-up tensor contents for timing: finite, positive, of moderate size, so that no kernel meets
// a denormal or a NaN, whose arithmetic may be slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/graph/graph.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::cost {

/// Fills with elements of that type: reals in [0.5, 1.5), integers in [0, `integer_bound`).
void fill_random(core::DataType type, std::span<std::byte> bytes, std::int64_t integer_bound,
                 std::uint64_t seed);

/// One past the largest integer that input number `input` of the launch may hold: an index must
/// stay within what it is an index of.
std::int64_t integer_bound(const core::Graph& graph, const runtime::Launch& launch,
                           core::TensorId input);

}  // namespace soapstone::cost
