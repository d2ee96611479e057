// See moved_weights.h. Works on the document alone, so a mistake in reading operators has no part
// in it.
#include "models/onnx/moved_weights.h"

#include <cstring>
#include <random>

#include "models/onnx/writing/document_weights.h"

namespace soapstone::models {
namespace {

/// Sizes and exponents of floating types; neighbors in magnitude are neighbors as integers.
struct FloatBits {
  std::size_t size_bytes = 0;
  std::uint64_t infinity = 0;  ///< Its bits. 0: not a floating type.
};

FloatBits bits_of(core::DataType type) {
  switch (type) {
  case core::DataType::kFloat64:
    return {8, 0x7ffULL << 52};
  case core::DataType::kFloat32:
    return {4, 0xffULL << 23};
  case core::DataType::kBFloat16:
    return {2, 0xffULL << 7};
  case core::DataType::kFloat16:
    return {2, 0x1fULL << 10};
  default:
    return {};
  }
}

/// `step`: -1, 0 or 1 in magnitude. No number becomes a zero or an infinity.
std::uint64_t neighbor(std::uint64_t number, int step, std::uint64_t infinity) {
  const std::uint64_t magnitude = number & (infinity | (infinity - 1));
  if (magnitude == 0 || magnitude >= infinity) return number;
  if (step > 0) return magnitude + 1 < infinity ? number + 1 : number;
  return step < 0 && magnitude > 1 ? number - 1 : number;
}

core::LiteralPtr moved(const core::Literal& weight, const FloatBits& bits,
                       std::mt19937_64& random) {
  std::vector<std::byte> bytes(weight.bytes().begin(), weight.bytes().end());
  for (std::size_t at = 0; at < bytes.size(); at += bits.size_bytes) {
    std::uint64_t number = 0;  // little-endian, as in the file
    std::memcpy(&number, &bytes[at], bits.size_bytes);
    number = neighbor(number, static_cast<int>(random() % 3) - 1, bits.infinity);
    std::memcpy(&bytes[at], &number, bits.size_bytes);
  }
  return std::make_shared<const core::Literal>(
      core::Literal::copy(weight.data_type(), weight.dims(), bytes));
}

}  // namespace

core::Status write_moved_weights(const std::filesystem::path& model,
                                 const std::filesystem::path& path, std::uint64_t seed) {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel document, read_document(model));
  std::mt19937_64 random(seed);
  for (auto& [weight, name] : document.weights) {
    const FloatBits bits = bits_of(weight->data_type());
    if (bits.infinity != 0 && weight->dims().size() >= 2) weight = moved(*weight, bits, random);
  }
  return write_document(std::move(document), path);
}

}  // namespace soapstone::models
