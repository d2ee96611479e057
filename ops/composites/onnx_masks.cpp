// Trilu and OneHot as choices: `where` by a mask that is known, or that compares indices with the
// positions along a new dimension.
#include "ops/composites/onnx_masks.h"

#include <algorithm>
#include <numeric>

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::Dims;

/// A constant of more elements would take more memory than what it is made for.
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;

/// The only element of a constant. None: it is computed, or not there.
std::optional<std::int64_t> known_integer(const OnnxImport& import, std::size_t k) {
  const core::LiteralPtr literal = has_input(import, k) ? import.constant_input(k) : nullptr;
  const auto values = literal ? literal->to_ints() : std::nullopt;
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

/// Whether each place of a matrix is on the kept side of the diagonal.
core::Literal triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal, bool upper) {
  std::vector<std::byte> mask;
  mask.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      mask.push_back(std::byte{upper ? j - i >= diagonal : j - i <= diagonal});
  return core::Literal::copy(DataType::kBool, {rows, columns}, mask);
}

/// Known matrices, such as a mask that a model makes, with zeros for what is not kept.
core::Literal kept(const core::Literal& matrices, const core::Literal& mask) {
  std::vector<std::byte> bytes(matrices.bytes().begin(), matrices.bytes().end());
  const std::size_t width = core::size_bytes(matrices.data_type());
  for (std::size_t k = 0; k * width < bytes.size(); ++k)
    if (mask.bytes()[k % mask.bytes().size()] == std::byte{0})
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(k * width), width, std::byte{0});
  return core::Literal::copy(matrices.data_type(), matrices.dims(), bytes);
}

ReadResult read_trilu(OnnxImport& import) {
  const Dims dims = input_dims(import, 0);
  if (dims.size() < 2) return bad_node(import, "its input has no matrices");
  const std::int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const auto given = has_input(import, 1) ? known_integer(import, 1) : 0;
  if (!given) return cannot_read(import, "its diagonal is not known");
  if (rows > kMostElements || columns > kMostElements || rows * columns > kMostElements)
    return cannot_read(import, "matrices that are too large");
  // All diagonals beyond hold nothing.
  const std::int64_t diagonal = std::clamp(*given, -rows, columns);
  core::Literal mask = triangle(rows, columns, diagonal, import.int_or("upper", 1) != 0);
  if (const core::LiteralPtr known = import.constant_input(0);
      known && known->count() <= kMostElements)
    return std::vector{import.constant(kept(*known, mask))};
  Composer compose(import);
  const TensorId zero = compose.scalar(import.type(import.input(0)).data_type, 0);
  return compose.finish(
      compose.append("where", {import.constant(std::move(mask)), import.input(0), zero}));
}

/// Indices count from the end where they are negative; one that is out of range sets nothing.
ReadResult read_one_hot(OnnxImport& import) {
  if (!has_input(import, 1) || !has_input(import, 2))
    return bad_node(import, "its depth or values are missing");
  const Dims indices = input_dims(import, 0);
  const auto depth = known_integer(import, 1);
  if (!depth) return cannot_read(import, "its depth is not known");
  if (*depth < 1 || *depth > kMostElements) return cannot_read(import, "its depth");
  if (import.type(import.input(0)).data_type != DataType::kInt64)
    return cannot_read(import, "the type of its indices");
  if (input_dims(import, 2) != Dims{2}) return bad_node(import, "it must have two values");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, import.int_or("axis", -1), indices.size() + 1));
  Dims column = indices, row(indices.size() + 1, 1);
  column.insert(column.begin() + axis, 1);
  row[static_cast<std::size_t>(axis)] = *depth;
  std::vector<std::int64_t> places(static_cast<std::size_t>(*depth));
  std::iota(places.begin(), places.end(), 0);
  const TensorId from_start = import.constant(core::Literal::ints(row, places));
  for (std::int64_t& place : places) place -= *depth;
  const TensorId from_end = import.constant(core::Literal::ints(row, places));
  Composer compose(import);
  const TensorId wanted = compose.reshape(import.input(0), column);
  const TensorId mask = compose.append("max", {compose.append("equal", {wanted, from_start}),
                                               compose.append("equal", {wanted, from_end})});
  const auto value = [&](std::int64_t k) {
    return compose.reshape(compose.slice(import.input(2), 0, k, 1), {});
  };
  return compose.finish(compose.append("where", {mask, value(1), value(0)}));
}

}  // namespace

std::vector<OnnxReader> mask_readers() {
  return {reader("Trilu", Elements::kNumbers, read_trilu, 14),
          reader("OneHot", Elements::kNumbers, read_one_hot, 9)};
}

}  // namespace soapstone::ops
