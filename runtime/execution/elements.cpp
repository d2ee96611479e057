// See elements.h.
#include "runtime/execution/elements.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/check.h"
#include "core/base/float16.h"

namespace soapstone::runtime {
namespace {

using core::DataType;

template <class T>
struct Plain {
  using Stored = T;
  static double to_double(T value) { return static_cast<double>(value); }
  static T from_double(double value) {
    if constexpr (std::is_integral_v<T>) {
      if (std::isnan(value)) return 0;
      if (value <= static_cast<double>(std::numeric_limits<T>::min()))
        return std::numeric_limits<T>::min();
      if (value >= static_cast<double>(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    }
    return static_cast<T>(value);
  }
};
struct Bool {
  using Stored = std::uint8_t;
  static double to_double(std::uint8_t value) { return value != 0; }
  static std::uint8_t from_double(double value) { return value != 0; }
};
struct Float16 {
  using Stored = std::uint16_t;
  static double to_double(std::uint16_t bits) { return core::float_from_f16(bits); }
  static std::uint16_t from_double(double value) {
    return core::f16_from_float(static_cast<float>(value));
  }
};
struct BFloat16 {
  using Stored = std::uint16_t;
  static double to_double(std::uint16_t bits) { return core::float_from_bf16(bits); }
  static std::uint16_t from_double(double value) {
    return core::bf16_from_float(static_cast<float>(value));
  }
};

template <class Visit>
void with_format(DataType type, Visit visit) {
  switch (type) {
  case DataType::kFloat32:
    return visit(Plain<float>{});
  case DataType::kFloat64:
    return visit(Plain<double>{});
  case DataType::kFloat16:
    return visit(Float16{});
  case DataType::kBFloat16:
    return visit(BFloat16{});
  case DataType::kInt64:
    return visit(Plain<std::int64_t>{});
  case DataType::kInt32:
    return visit(Plain<std::int32_t>{});
  case DataType::kInt16:
    return visit(Plain<std::int16_t>{});
  case DataType::kInt8:
    return visit(Plain<std::int8_t>{});
  case DataType::kUInt64:
    return visit(Plain<std::uint64_t>{});
  case DataType::kUInt32:
    return visit(Plain<std::uint32_t>{});
  case DataType::kUInt16:
    return visit(Plain<std::uint16_t>{});
  case DataType::kUInt8:
    return visit(Plain<std::uint8_t>{});
  case DataType::kBool:
    return visit(Bool{});
  case DataType::kString:
  case DataType::kOther:
    break;
  }
  CHECK(false, "elements that are no numbers");
}

/// Calls `at(row-major position, position by strides)` for every element, row-major.
template <class At>
void for_each_element(const core::Dims& dims, const core::Dims& strides, At at) {
  const std::int64_t count = core::element_count(dims);
  std::vector<std::int64_t> index(dims.size());
  std::int64_t position = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    at(static_cast<std::size_t>(i), static_cast<std::size_t>(position));
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      position += strides[axis];
      if (++index[axis] < dims[axis]) break;
      position -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::vector<double> load_elements(const core::TensorType& type, Layout layout,
                                  const std::byte* bytes) {
  const core::Dims dims = dims_of(type);
  std::vector<double> values(static_cast<std::size_t>(core::element_count(dims)));
  with_format(type.data_type, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    const auto* stored = reinterpret_cast<const Stored*>(bytes);
    for_each_element(dims, strides_of(dims, layout), [&](std::size_t i, std::size_t at) {
      values[i] = format.to_double(stored[at]);
    });
  });
  return values;
}

void store_elements(const core::TensorType& type, Layout layout, std::span<const double> values,
                    std::byte* bytes) {
  const core::Dims dims = dims_of(type);
  with_format(type.data_type, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    auto* stored = reinterpret_cast<Stored*>(bytes);
    for_each_element(dims, strides_of(dims, layout), [&](std::size_t i, std::size_t at) {
      stored[at] = format.from_double(values[i]);
    });
  });
}

void copy_strided(const core::Dims& dims, std::size_t element_bytes, const std::byte* from,
                  const core::Dims& from_strides, std::byte* to, const core::Dims& to_strides) {
  // Whole rows are copied if the innermost dimension is dense on both sides.
  core::Dims outer = dims;
  std::size_t run = element_bytes;
  if (!dims.empty() && from_strides.back() == 1 && to_strides.back() == 1) {
    run *= static_cast<std::size_t>(outer.back());
    outer.back() = std::min<std::int64_t>(outer.back(), 1);
  }
  core::Dims sources;
  sources.reserve(static_cast<std::size_t>(core::element_count(outer)));
  for_each_element(outer, from_strides, [&](std::size_t, std::size_t at) {
    sources.push_back(static_cast<std::int64_t>(at));
  });
  for_each_element(outer, to_strides, [&](std::size_t i, std::size_t at) {
    std::memcpy(to + at * element_bytes,
                from + static_cast<std::size_t>(sources[i]) * element_bytes, run);
  });
}

}  // namespace soapstone::runtime
