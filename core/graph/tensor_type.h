// Element types and shapes. A size is a polynomial, so one Shape serves concrete models and
// rules for all sizes alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/polynomial.h"

namespace soapstone::core {

enum class DataType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt64,
  kUInt32,
  kUInt16,
  kUInt8,
  kBool,
  kString,
  kOther,
};

/// Bytes of one element. 0 for kString and kOther, whose elements have no fixed size.
std::size_t size_bytes(DataType type);
bool is_floating(DataType type);
/// `f32`, `i64`, `bool`, ….
std::string_view to_string(DataType type);
std::optional<DataType> parse_data_type(std::string_view text);

using Size = Polynomial;
using Shape = std::vector<Size>;
/// A shape whose sizes are all known numbers.
using Dims = std::vector<std::int64_t>;

/// The numbers, if every size is one.
std::optional<Dims> concrete(const Shape& shape);
Shape to_shape(const Dims& dims);
/// Product of all sizes. Precondition: concrete and without overflow (see checked_element_count).
std::int64_t element_count(const Dims& dims);
/// Product of all sizes, or none if it does not fit or a size is negative.
std::optional<std::int64_t> checked_element_count(const Dims& dims);
/// `[1, 3, n, 2*n]`.
std::string to_string(const Shape& shape, const SymbolTable& names);
std::string to_string(const Dims& dims);

/// The type of a tensor: everything that is known of it before it has a value.
struct TensorType {
  DataType data_type = DataType::kFloat32;
  Shape shape;
  bool shape_known = true;  ///< False behind an opaque operator whose result nobody inferred.
  bool operator==(const TensorType&) const = default;
};

}  // namespace soapstone::core
