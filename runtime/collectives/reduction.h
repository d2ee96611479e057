// The arithmetic of reductions among ranks. All implementations on the host use it, so that their
// results agree bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/graph/tensor_type.h"

namespace soapstone::runtime {

enum class Reduction : std::uint8_t { kSum, kMax, kMin };

/// `sum`, `largest` or `smallest`.
const char* to_string(Reduction reduction);

/// Whether elements of this type can be added and compared: all numbers.
bool can_reduce(core::DataType type);

/// Combines element k of all `from`, one a rank, in the order of ranks: ((r0 + r1) + r2) + ….
/// f32 and f64 are rounded after each addition; f16 and bf16 are added as f32 and rounded once, at
/// the end; integers wrap. The largest and the smallest of numbers and a NaN is NaN; of 0 and −0 it
/// is that of the last rank that has either. The bits of a NaN are not determined.
/// `to` is apart from all `from`, or is one of them. Precondition: can_reduce(type), and a rank.
void reduce_in_order(std::span<const std::byte* const> from, std::int64_t count,
                     core::DataType type, Reduction reduction, std::byte* to);

}  // namespace soapstone::runtime
