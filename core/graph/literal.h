// A constant tensor: immutable bytes in row-major order, shared between graphs, hashed at most
// once.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/tensor_type.h"

namespace soapstone::core {

class Literal {
 public:
  /// Copies `values`. Precondition: as many values as `dims` says.
  static Literal floats(Dims dims, std::span<const float> values);
  static Literal ints(Dims dims, std::span<const std::int64_t> values);
  static Literal scalar(float value) { return floats({}, std::span(&value, 1)); }
  /// Shares `bytes`, which `owner` keeps alive (a mapped file, say).
  /// Precondition: bytes.size() is the element count times the element size (kString and kOther,
  /// which have none, may hold any bytes). Bytes that are not aligned for the type are copied.
  static Literal view(DataType type, Dims dims, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner);
  /// Copies `bytes`.
  static Literal copy(DataType type, Dims dims, std::span<const std::byte> bytes);

  DataType data_type() const { return type_; }
  const Dims& dims() const { return dims_; }
  std::int64_t count() const { return element_count(dims_); }
  std::span<const std::byte> bytes() const { return content_->bytes; }
  /// The elements as T. Precondition: sizeof(T) is the element size.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes().data()), bytes().size() / sizeof(T)};
  }
  /// All elements converted, whatever numeric type they have (f16 and bf16 too).
  std::vector<double> to_doubles() const;
  /// All elements of an integer or bool tensor. Empty optional for other types.
  std::optional<std::vector<std::int64_t>> to_ints() const;
  /// Same elements under another shape. Precondition: same element count.
  Literal reshaped(Dims dims) const;

  /// A hash of type, shape and contents; the same in every run. Complexity: the first call for some
  /// bytes reads them all.
  std::uint64_t hash() const;
  friend bool operator==(const Literal& a, const Literal& b);

 private:
  /// Literals of the same bytes share them and their hash, which one of them computes.
  struct Content {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    mutable std::atomic<std::uint64_t> hash = kNotHashed;
  };
  static constexpr std::uint64_t kNotHashed = 0;  ///< A hash of that value is computed each time.

  Literal(DataType type, Dims dims, std::shared_ptr<const Content> content)
      : type_(type), dims_(std::move(dims)), content_(std::move(content)) {}

  DataType type_ = DataType::kFloat32;
  Dims dims_;
  std::shared_ptr<const Content> content_;
};

using LiteralPtr = std::shared_ptr<const Literal>;

}  // namespace soapstone::core
