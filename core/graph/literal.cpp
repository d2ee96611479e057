// Constants: how their bytes are held, compared and read as numbers.
#include "core/graph/literal.h"

#include <cstring>

#include "core/base/float16.h"
#include "core/base/hash.h"

namespace soapstone::core {
namespace {

/// Calls `visit` with the elements as a span of their C++ type; f16 and bf16 come as float.
/// False: the elements are no numbers.
template <class Visit>
bool visit_elements(const Literal& literal, Visit visit) {
  const auto halves = [&](float (*convert)(std::uint16_t)) {
    std::vector<float> values;
    for (std::uint16_t bits : literal.as<std::uint16_t>()) values.push_back(convert(bits));
    visit(std::span<const float>(values));
  };
  switch (literal.data_type()) {
  case DataType::kFloat32:
    visit(literal.as<float>());
    return true;
  case DataType::kFloat64:
    visit(literal.as<double>());
    return true;
  case DataType::kFloat16:
    halves(float_from_f16);
    return true;
  case DataType::kBFloat16:
    halves(float_from_bf16);
    return true;
  case DataType::kInt64:
    visit(literal.as<std::int64_t>());
    return true;
  case DataType::kInt32:
    visit(literal.as<std::int32_t>());
    return true;
  case DataType::kInt16:
    visit(literal.as<std::int16_t>());
    return true;
  case DataType::kInt8:
    visit(literal.as<std::int8_t>());
    return true;
  case DataType::kUInt64:
    visit(literal.as<std::uint64_t>());
    return true;
  case DataType::kUInt32:
    visit(literal.as<std::uint32_t>());
    return true;
  case DataType::kUInt16:
    visit(literal.as<std::uint16_t>());
    return true;
  case DataType::kUInt8:
  case DataType::kBool:
    visit(literal.as<std::uint8_t>());
    return true;
  case DataType::kString:
  case DataType::kOther:
    return false;
  }
  return false;
}

}  // namespace

std::uint64_t Literal::hash() const {
  std::uint64_t hash = content_->hash.load(std::memory_order_relaxed);
  if (hash == kNotHashed) {
    hash = hash_bytes(content_->bytes);
    content_->hash.store(hash, std::memory_order_relaxed);
  }
  hash = hash_combine(hash, static_cast<std::uint64_t>(type_));
  for (std::int64_t dim : dims_) hash = hash_combine(hash, static_cast<std::uint64_t>(dim));
  return hash;
}

Literal Literal::floats(Dims dims, std::span<const float> values) {
  return copy(DataType::kFloat32, std::move(dims), std::as_bytes(values));
}

Literal Literal::ints(Dims dims, std::span<const std::int64_t> values) {
  return copy(DataType::kInt64, std::move(dims), std::as_bytes(values));
}

Literal Literal::view(DataType type, Dims dims, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  const std::size_t element = core::size_bytes(type);
  if (element != 0) {
    CHECK(bytes.size() == static_cast<std::size_t>(element_count(dims)) * element,
          std::to_string(bytes.size()) + " bytes for " + to_string(dims));
    // A place inside a file may be odd, but as<T>() may not read there.
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % element != 0) {
      return copy(type, std::move(dims), bytes);
    }
  }
  auto content = std::make_shared<Content>();
  content->bytes = bytes;
  content->owner = std::move(owner);
  return Literal(type, std::move(dims), std::move(content));
}

Literal Literal::copy(DataType type, Dims dims, std::span<const std::byte> bytes) {
  // A vector, because its storage is aligned for every element type.
  auto storage = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return view(type, std::move(dims), *storage, storage);
}

std::vector<double> Literal::to_doubles() const {
  std::vector<double> values;
  const bool numeric = visit_elements(
      *this, [&](auto elements) { values.assign(elements.begin(), elements.end()); });
  CHECK(numeric, "numbers of a constant that has none");
  return values;
}

std::optional<std::vector<std::int64_t>> Literal::to_ints() const {
  if (is_floating(type_)) return std::nullopt;
  std::vector<std::int64_t> values;
  const bool numeric = visit_elements(*this, [&](auto elements) {
    values.reserve(elements.size());
    for (auto element : elements) values.push_back(static_cast<std::int64_t>(element));
  });
  if (!numeric) return std::nullopt;
  return values;
}

Literal Literal::reshaped(Dims dims) const {
  CHECK(checked_element_count(dims) == checked_element_count(dims_),
        to_string(dims_) + " to " + to_string(dims));
  return Literal(type_, std::move(dims), content_);
}

bool operator==(const Literal& a, const Literal& b) {
  if (a.type_ != b.type_ || a.dims_ != b.dims_ || a.bytes().size() != b.bytes().size())
    return false;
  return a.content_ == b.content_ || a.bytes().data() == b.bytes().data() || a.bytes().empty() ||
         std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

}  // namespace soapstone::core
