// Rows and columns of a tensor, read off the positions at which it is read: mixed radices in which
// some digits say the row and the others the column.
#pragma once

#include <optional>
#include <vector>

#include "gpu/text/index_space.h"
#include "gpu/text/kernel_plan.h"

namespace soapstone::gpu {

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

}  // namespace soapstone::gpu
