// See pieces_of_values.h.
#include "parallel/running/pieces_of_values.h"

#include <cstring>
#include <vector>

namespace soapstone::parallel {
namespace {

/// Calls `run(place in the whole, place in the piece, count)`, in elements, for each run of
/// elements that lie behind each other in both. A tensor without dimensions has one element.
template <class Run>
void for_each_run(const TensorPiece& piece, const core::Dims& dims, const Run& run) {
  std::int64_t in_piece = 0;
  const auto visit = [&](const auto& self, std::size_t dim, std::int64_t before) -> void {
    const bool is_last = dim + 1 == dims.size();
    for (const ops::Interval& interval : piece.dims[dim]) {
      if (is_last) {
        run(before * dims[dim] + interval.low, in_piece, interval.high - interval.low);
        in_piece += interval.high - interval.low;
        continue;
      }
      for (std::int64_t i = interval.low; i < interval.high; ++i)
        self(self, dim + 1, before * dims[dim] + i);
    }
  };
  if (dims.empty())
    run(0, 0, 1);
  else
    visit(visit, 0, 0);
}

}  // namespace

core::LiteralPtr value_of_piece(const core::LiteralPtr& whole, const TensorPiece& piece) {
  const core::Dims& dims = whole->dims();
  if (piece == TensorPiece::whole(dims)) return whole;
  const std::size_t width = core::size_bytes(whole->data_type());
  std::vector<std::byte> bytes(static_cast<std::size_t>(piece.element_count()) * width);
  for_each_run(piece, dims, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(to) * width,
                whole->bytes().data() + static_cast<std::size_t>(from) * width,
                static_cast<std::size_t>(count) * width);
  });
  return std::make_shared<const core::Literal>(
      core::Literal::copy(whole->data_type(), piece.extents(), bytes));
}

void put_piece(std::span<const std::byte> value, std::size_t element_bytes,
               const TensorPiece& piece, const core::Dims& dims, std::span<std::byte> whole) {
  for_each_run(piece, dims, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::memcpy(whole.data() + static_cast<std::size_t>(to) * element_bytes,
                value.data() + static_cast<std::size_t>(from) * element_bytes,
                static_cast<std::size_t>(count) * element_bytes);
  });
}

core::Dims index_in_whole(const TensorPiece& piece, std::int64_t position) {
  const core::Dims extents = piece.extents();
  core::Dims index(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    const std::int64_t place = position % extents[d];
    index[d] = elements_at(piece.dims[d], {place, place + 1}).front().low;
    position /= extents[d];
  }
  return index;
}

}  // namespace soapstone::parallel
