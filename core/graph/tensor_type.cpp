// Tables of the element types, and shapes as numbers and as text.
#include "core/graph/tensor_type.h"

#include <array>

namespace soapstone::core {
namespace {

struct TypeFacts {
  DataType type;
  std::string_view name;
  std::size_t size_bytes;
  bool floating;
};

constexpr std::array<TypeFacts, 15> kTypes = {{
    {DataType::kFloat32, "f32", 4, true},
    {DataType::kFloat64, "f64", 8, true},
    {DataType::kFloat16, "f16", 2, true},
    {DataType::kBFloat16, "bf16", 2, true},
    {DataType::kInt64, "i64", 8, false},
    {DataType::kInt32, "i32", 4, false},
    {DataType::kInt16, "i16", 2, false},
    {DataType::kInt8, "i8", 1, false},
    {DataType::kUInt64, "u64", 8, false},
    {DataType::kUInt32, "u32", 4, false},
    {DataType::kUInt16, "u16", 2, false},
    {DataType::kUInt8, "u8", 1, false},
    {DataType::kBool, "bool", 1, false},
    {DataType::kString, "string", 0, false},
    {DataType::kOther, "other", 0, false},
}};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(in_enum_order());

const TypeFacts& facts(DataType type) { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::size_t size_bytes(DataType type) { return facts(type).size_bytes; }
bool is_floating(DataType type) { return facts(type).floating; }
std::string_view to_string(DataType type) { return facts(type).name; }

std::optional<DataType> parse_data_type(std::string_view text) {
  for (const TypeFacts& entry : kTypes) {
    if (entry.name == text) return entry.type;
  }
  return std::nullopt;
}

std::optional<Dims> concrete(const Shape& shape) {
  Dims dims;
  dims.reserve(shape.size());
  for (const Size& size : shape) {
    if (!size.is_constant()) return std::nullopt;
    dims.push_back(size.constant());
  }
  return dims;
}

Shape to_shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

std::int64_t element_count(const Dims& dims) {
  const auto count = checked_element_count(dims);
  CHECK(count, "element count of " + to_string(dims));
  return *count;
}

std::optional<std::int64_t> checked_element_count(const Dims& dims) {
  std::int64_t count = 1;
  bool empty = false;
  bool fits = true;
  for (std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
    fits = fits && !__builtin_mul_overflow(count, dim, &count);
  }
  if (empty) return 0;  // also [2^40, 2^40, 0], whose partial product does not fit
  if (!fits) return std::nullopt;
  return count;
}

std::string to_string(const Shape& shape, const SymbolTable& names) {
  std::string text = "[";
  for (const Size& size : shape) {
    if (text.size() > 1) text += ", ";
    text += size.to_string(names);
  }
  return text + "]";
}

std::string to_string(const Dims& dims) { return to_string(to_shape(dims), {}); }

}  // namespace soapstone::core
