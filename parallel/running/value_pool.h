// Memory of the host for the values of a rank, which is used again from step to step.
#pragma once

#include <cstddef>
#include <memory>

#include "core/graph/literal.h"
#include "core/graph/tensor_type.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::parallel {

/// Bytes for a value that is still to be written, at a multiple of 64.
class Buffer {
 public:
  Buffer(std::shared_ptr<std::byte> bytes, const core::TensorType& type);

  runtime::Elements elements() const { return {address(), core::element_count(dims_), type_}; }
  runtime::DeviceAddress address() const {
    return runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(bytes_.get()));
  }
  std::span<std::byte> bytes() const { return {bytes_.get(), size_}; }
  /// The value, which has been written. The memory is taken back when nothing reads it any more.
  core::LiteralPtr value() const;

 private:
  core::DataType type_;
  core::Dims dims_;
  std::size_t size_;
  std::shared_ptr<std::byte> bytes_;
};

/// Not thread-safe, as its values are not.
class ValuePool {
 public:
  ValuePool();
  Buffer make(const core::TensorType& type);
  /// What values have and what waits for the next one of its size.
  std::size_t bytes() const;

 private:
  struct Free;
  std::shared_ptr<Free> free_;  ///< Values may outlive the pool.
};

}  // namespace soapstone::parallel
