// See reduction.h. Elements are reduced in blocks that stay in the nearest cache, and loops over a
// block are plain enough to become vector instructions.
#include "runtime/collectives/reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/base/check.h"
#include "core/base/float16.h"

namespace soapstone::runtime {
namespace {

using core::DataType;

constexpr std::size_t kBlock = 1024;  ///< Elements.

/// How elements are stored, and as what they are combined.
template <class T>
struct PlainNumber {
  using Stored = T;
  using Value = T;
  static T load(T stored) { return stored; }
  static T store(T value) { return value; }
};
struct HalfNumber {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t bits) { return core::float_from_f16(bits); }
  static std::uint16_t store(float value) { return core::f16_from_float(value); }
};
struct BrainNumber {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t bits) { return core::float_from_bf16(bits); }
  static std::uint16_t store(float value) { return core::bf16_from_float(value); }
};

template <Reduction reduction, class T>
T combined(T a, T b) {
  if constexpr (reduction == Reduction::kSum) {
    if constexpr (std::is_integral_v<T>) {
      using Wrapping = std::make_unsigned_t<T>;  // Sums of signed numbers must not overflow.
      return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    } else {
      return a + b;
    }
  } else {
    const bool is_first = reduction == Reduction::kMax ? a > b : a < b;
    // A NaN in b is taken as it compares with nothing.
    if constexpr (std::is_floating_point_v<T>) return is_first || std::isnan(a) ? a : b;
    return is_first ? a : b;
  }
}

template <class T>
T element(const std::byte* bytes, std::size_t k) {
  T value;
  std::memcpy(&value, bytes + k * sizeof(T), sizeof(T));
  return value;
}

template <class Number, Reduction reduction>
void reduce_numbers(std::span<const std::byte* const> from, std::size_t count, std::byte* to) {
  using Stored = typename Number::Stored;
  std::array<typename Number::Value, kBlock> values;
  std::array<Stored, kBlock> result;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t length = std::min(kBlock, count - begin);
    const auto* const first = from[0] + begin * sizeof(Stored);
    for (std::size_t k = 0; k < length; ++k) values[k] = Number::load(element<Stored>(first, k));
    for (const std::byte* const rank : from.subspan(1)) {
      const auto* const next = rank + begin * sizeof(Stored);
      for (std::size_t k = 0; k < length; ++k)
        values[k] = combined<reduction>(values[k], Number::load(element<Stored>(next, k)));
    }
    for (std::size_t k = 0; k < length; ++k) result[k] = Number::store(values[k]);
    std::memcpy(to + begin * sizeof(Stored), result.data(), length * sizeof(Stored));
  }
}

using Reduce = void (*)(std::span<const std::byte* const>, std::size_t, std::byte*);

template <class Number>
Reduce reduce_as(Reduction reduction) {
  return reduction == Reduction::kSum   ? reduce_numbers<Number, Reduction::kSum>
         : reduction == Reduction::kMax ? reduce_numbers<Number, Reduction::kMax>
                                        : reduce_numbers<Number, Reduction::kMin>;
}

/// Null for types that are no numbers.
Reduce reduce_for(DataType type, Reduction reduction) {
  switch (type) {
  case DataType::kFloat32:
    return reduce_as<PlainNumber<float>>(reduction);
  case DataType::kFloat64:
    return reduce_as<PlainNumber<double>>(reduction);
  case DataType::kFloat16:
    return reduce_as<HalfNumber>(reduction);
  case DataType::kBFloat16:
    return reduce_as<BrainNumber>(reduction);
  case DataType::kInt64:
    return reduce_as<PlainNumber<std::int64_t>>(reduction);
  case DataType::kInt32:
    return reduce_as<PlainNumber<std::int32_t>>(reduction);
  case DataType::kInt16:
    return reduce_as<PlainNumber<std::int16_t>>(reduction);
  case DataType::kInt8:
    return reduce_as<PlainNumber<std::int8_t>>(reduction);
  case DataType::kUInt64:
    return reduce_as<PlainNumber<std::uint64_t>>(reduction);
  case DataType::kUInt32:
    return reduce_as<PlainNumber<std::uint32_t>>(reduction);
  case DataType::kUInt16:
    return reduce_as<PlainNumber<std::uint16_t>>(reduction);
  case DataType::kUInt8:
    return reduce_as<PlainNumber<std::uint8_t>>(reduction);
  case DataType::kBool:
  case DataType::kString:
  case DataType::kOther:
    break;
  }
  return nullptr;
}

}  // namespace

const char* to_string(Reduction reduction) {
  return reduction == Reduction::kSum   ? "sum"
         : reduction == Reduction::kMax ? "largest"
                                        : "smallest";
}

bool can_reduce(DataType type) { return reduce_for(type, Reduction::kSum) != nullptr; }

void reduce_in_order(std::span<const std::byte* const> from, std::int64_t count, DataType type,
                     Reduction reduction, std::byte* to) {
  const Reduce reduce = reduce_for(type, reduction);
  CHECK(reduce && !from.empty(), "nothing that can be reduced");
  reduce(from, static_cast<std::size_t>(count), to);
}

}  // namespace soapstone::runtime
