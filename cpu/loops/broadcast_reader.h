// Reads the elements of an operand that belong to a range of elements of a result, as floats or as
// 64-bit integers, whatever the operand's element type, layout and broadcasting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/tensor_type.h"
#include "runtime/launches/layout.h"

namespace soapstone::cpu {

template <class T>
class BroadcastReader {
 public:
  /// Elements of the result are counted in the order in which they lie in memory.
  BroadcastReader(const core::TensorType& operand, runtime::Layout operand_layout,
                  const core::Dims& result, runtime::Layout result_layout);

  /// The operand's elements for result elements begin … begin+count. Points into the operand where
  /// they lie there as they are, else to `buffer`, which has room for `count`.
  const T* read(const std::byte* operand, std::size_t begin, std::size_t count, T* buffer) const;

 private:
  template <class Stored>
  void fill(const Stored* operand, std::size_t begin, std::size_t count, T* buffer) const;
  template <class Stored>
  void fill_runs(const Stored* operand, std::size_t begin, std::size_t count, T* buffer) const;

  core::DataType type_;
  bool direct_ = false;
  core::Dims dims_, strides_;  // of the result, outermost first, merged; strides in the operand
};

extern template class BroadcastReader<float>;
extern template class BroadcastReader<std::int64_t>;

/// True for the types that it reads: f32, i64, i32, bool.
bool is_readable(core::DataType type);

/// Converts to elements of such a type, as a cast does: to integers toward zero.
template <class T>
void write_converted(const T* values, std::size_t count, core::DataType type, std::byte* to);

}  // namespace soapstone::cpu
