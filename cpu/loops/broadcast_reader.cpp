// See broadcast_reader.h.
#include "cpu/loops/broadcast_reader.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/base/check.h"

namespace soapstone::cpu {
namespace {

using core::DataType;

template <class Stored, class T>
void copy_run(const Stored* from, std::int64_t stride, std::size_t count, T* to) {
  if (stride == 0) {
    std::fill_n(to, count, static_cast<T>(*from));
  } else if (stride == 1) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<T>(from[static_cast<std::int64_t>(i) * stride]);
  }
}

template <class Integer>
Integer to_integer(float value) {
  // The largest floats that fit; what does not fit saturates.
  constexpr float kHigh = sizeof(Integer) == 8 ? 0x1.fffffep62f : 0x1.fffffep30f;
  return value == value ? static_cast<Integer>(std::clamp(value, -kHigh, kHigh)) : 0;
}
template <class Integer>
Integer to_integer(std::int64_t value) {
  using Limits = std::numeric_limits<Integer>;
  return static_cast<Integer>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

template <class Integer, class T>
void write_integers(const T* values, std::size_t count, std::byte* to) {
  auto* result = reinterpret_cast<Integer*>(to);
  for (std::size_t i = 0; i < count; ++i) result[i] = to_integer<Integer>(values[i]);
}

}  // namespace

template <class T>
BroadcastReader<T>::BroadcastReader(const core::TensorType& operand, runtime::Layout operand_layout,
                                    const core::Dims& result, runtime::Layout result_layout)
    : type_(operand.data_type) {
  const core::Dims dims = runtime::dims_of(operand);
  const core::Dims strides = runtime::strides_of(dims, operand_layout);
  const std::size_t shift = result.size() - dims.size();
  for (std::size_t axis : runtime::memory_order(result.size(), result_layout)) {
    if (result[axis] == 1) continue;
    const bool varies = axis >= shift && dims[axis - shift] != 1;
    const std::int64_t stride = varies ? strides[axis - shift] : 0;
    if (!dims_.empty() && strides_.back() == stride * result[axis]) {
      dims_.back() *= result[axis];
      strides_.back() = stride;
    } else {
      dims_.push_back(result[axis]);
      strides_.push_back(stride);
    }
  }
  if (dims_.empty()) {
    dims_ = {1};
    strides_ = {1};
  }
  constexpr bool kFloats = std::is_same_v<T, float>;
  direct_ = type_ == (kFloats ? DataType::kFloat32 : DataType::kInt64) && dims_.size() == 1 &&
            strides_[0] == 1;
}

template <class T>
const T* BroadcastReader<T>::read(const std::byte* operand, std::size_t begin, std::size_t count,
                                  T* buffer) const {
  if (direct_) return reinterpret_cast<const T*>(operand) + begin;
  switch (type_) {
  case DataType::kFloat32:
    fill(reinterpret_cast<const float*>(operand), begin, count, buffer);
    break;
  case DataType::kInt64:
    fill(reinterpret_cast<const std::int64_t*>(operand), begin, count, buffer);
    break;
  case DataType::kInt32:
    fill(reinterpret_cast<const std::int32_t*>(operand), begin, count, buffer);
    break;
  case DataType::kBool:
    fill(reinterpret_cast<const std::uint8_t*>(operand), begin, count, buffer);
    break;
  default:
    CHECK(false, "an operand of a type that is not read");
  }
  return buffer;
}

/// An operand that repeats itself, as a factor for each channel does, is read once and copied on.
template <class T>
template <class Stored>
void BroadcastReader<T>::fill(const Stored* operand, std::size_t begin, std::size_t count,
                              T* buffer) const {
  if (dims_.size() != 2 || strides_[0] != 0) return fill_runs(operand, begin, count, buffer);
  const std::size_t period = std::min(count, static_cast<std::size_t>(dims_[1]));
  fill_runs(operand, begin, period, buffer);
  for (std::size_t done = period; done < count;) {
    const std::size_t more = std::min(done, count - done);
    std::copy_n(buffer, more, buffer + done);
    done += more;
  }
}

template <class T>
template <class Stored>
void BroadcastReader<T>::fill_runs(const Stored* operand, std::size_t begin, std::size_t count,
                                   T* buffer) const {
  const std::size_t inner = dims_.size() - 1;
  const auto inner_size = static_cast<std::size_t>(dims_[inner]);
  while (count > 0) {
    const std::size_t within = begin % inner_size;
    std::int64_t offset = static_cast<std::int64_t>(within) * strides_[inner];
    auto outer = static_cast<std::int64_t>(begin / inner_size);
    for (std::size_t d = inner; d-- > 0;) {
      offset += outer % dims_[d] * strides_[d];
      outer /= dims_[d];
    }
    const std::size_t run = std::min(count, inner_size - within);
    copy_run(operand + offset, strides_[inner], run, buffer);
    buffer += run;
    begin += run;
    count -= run;
  }
}

template class BroadcastReader<float>;
template class BroadcastReader<std::int64_t>;

bool is_readable(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kInt64 || type == DataType::kInt32 ||
         type == DataType::kBool;
}

template <class T>
void write_converted(const T* values, std::size_t count, DataType type, std::byte* to) {
  switch (type) {
  case DataType::kFloat32:
    std::transform(values, values + count, reinterpret_cast<float*>(to),
                   [](T value) { return static_cast<float>(value); });
    return;
  case DataType::kInt64:
    return write_integers<std::int64_t>(values, count, to);
  case DataType::kInt32:
    return write_integers<std::int32_t>(values, count, to);
  case DataType::kBool:
    for (std::size_t i = 0; i < count; ++i) to[i] = std::byte{values[i] != 0};
    return;
  default:
    CHECK(false, "a result of a type that is not written");
  }
}

template void write_converted(const float*, std::size_t, DataType, std::byte*);
template void write_converted(const std::int64_t*, std::size_t, DataType, std::byte*);

}  // namespace soapstone::cpu
