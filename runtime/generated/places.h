// Rows and columns of a tensor, read off the positions at which it is read: mixed radices in which
// some digits say the row and the others the column.
#pragma once

#include <optional>
#include <vector>

#include "runtime/generated/index_space.h"

namespace soapstone::runtime::generated {

/// A part of a position: stride · (⌊n / divisor⌋ mod size), where n is the row or the column.
struct PlaceDigit {
  bool is_row = false;
  std::int64_t stride = 1, divisor = 1, size = 1;
  bool operator==(const PlaceDigit&) const = default;
};

struct Place {
  std::vector<PlaceDigit> digits;
  std::int64_t columns = 1;
};

/// The place of the element at the variable `at` of `elements`, which reads row `row_position` of
/// `rows`. None: not every row belongs to equally many elements, each to one.
std::optional<Place> place_of_row(const IndexSpace& space, const Affine& row_position,
                                  std::uint32_t at, std::int64_t elements, std::int64_t rows);

/// The place of the elements that are read at `position`, over the variable `row` of `rows` and one
/// other. None: they are not all elements, each once.
std::optional<Place> place_in(const IndexSpace& space, const Affine& position, std::uint32_t row,
                              std::int64_t elements, std::int64_t rows);

/// The position that a place is.
Affine position_at(IndexSpace& space, const std::vector<PlaceDigit>& place, const Affine& row,
                   const Affine& column);

/// True if the position grows by one with the variable that is not `row`.
bool steps_by_one(const IndexSpace& space, const Affine& position, std::uint32_t row);

}  // namespace soapstone::runtime::generated
