// Elements to text and back, exactly. Going through double would lose 64-bit integers, so each
// element type is read and written as itself.
#include "core/text/literal_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/float16.h"

namespace soapstone::core {
namespace {

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  }
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

/// How the elements of one type are stored and written.
template <class Stored, class Written>
struct Codec {
  Written (*decode)(Stored);
  Stored (*encode)(Written);

  std::vector<std::string> texts(const Literal& literal) const {
    std::vector<std::string> out;
    for (Stored element : literal.as<Stored>()) out.push_back(number_text(decode(element)));
    return out;
  }

  Result<Literal> read(DataType type, const Dims& dims,
                       const std::vector<std::string>& values) const {
    std::vector<Stored> elements;
    elements.reserve(values.size());
    for (const std::string& text : values) {
      const std::optional<Written> value = parse_number<Written>(text);
      if (!value || !fits(type, *value)) {
        return invalid_input("`" + text + "` is no " + std::string(to_string(type)));
      }
      elements.push_back(encode(*value));
    }
    return Literal::copy(type, dims, std::as_bytes(std::span(elements)));
  }

  bool fits(DataType type, Written value) const {
    if constexpr (std::is_floating_point_v<Written>) {
      return !std::isfinite(value) || std::isfinite(decode(encode(value)));
    }
    return type != DataType::kBool || value == Written(0) || value == Written(1);
  }
};

template <class T>
constexpr T same(T value) {
  return value;
}
template <class T>
constexpr Codec<T, T> kPlain{same<T>, same<T>};

/// Calls `use` with the codec of the type. Precondition: a numeric type.
template <class Use>
auto with_codec(DataType type, Use use) {
  switch (type) {
  case DataType::kFloat64:
    return use(kPlain<double>);
  case DataType::kFloat16:
    return use(Codec<std::uint16_t, float>{float_from_f16, f16_from_float});
  case DataType::kBFloat16:
    return use(Codec<std::uint16_t, float>{float_from_bf16, bf16_from_float});
  case DataType::kInt64:
    return use(kPlain<std::int64_t>);
  case DataType::kInt32:
    return use(kPlain<std::int32_t>);
  case DataType::kInt16:
    return use(kPlain<std::int16_t>);
  case DataType::kInt8:
    return use(kPlain<std::int8_t>);
  case DataType::kUInt64:
    return use(kPlain<std::uint64_t>);
  case DataType::kUInt32:
    return use(kPlain<std::uint32_t>);
  case DataType::kUInt16:
    return use(kPlain<std::uint16_t>);
  case DataType::kUInt8:
  case DataType::kBool:
    return use(kPlain<std::uint8_t>);
  case DataType::kFloat32:
  case DataType::kString:
  case DataType::kOther:
    break;
  }
  return use(kPlain<float>);
}

}  // namespace

std::optional<std::vector<std::string>> literal_values(const Literal& literal) {
  const DataType type = literal.data_type();
  if (size_bytes(type) == 0) return std::nullopt;
  auto texts = with_codec(type, [&](auto codec) { return codec.texts(literal); });
  const auto back = literal_from_values(type, literal.dims(), texts);
  if (!back || !(*back == literal)) return std::nullopt;
  return texts;
}

Result<Literal> literal_from_values(DataType type, const Dims& dims,
                                    const std::vector<std::string>& values) {
  if (size_bytes(type) == 0) {
    return invalid_input("elements of type " + std::string(to_string(type)) + " have no text");
  }
  const auto count = checked_element_count(dims);
  if (!count) return invalid_input("shape " + to_string(dims) + " has no element count");
  if (static_cast<std::size_t>(*count) != values.size()) {
    return invalid_input("shape " + to_string(dims) + " has " + std::to_string(*count) +
                         " elements, but " + std::to_string(values.size()) + " are given");
  }
  return with_codec(type, [&](auto codec) { return codec.read(type, dims, values); });
}

}  // namespace soapstone::core
