// Places and domains of a part beside those of the whole, over the same digits.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ops/analysis/analysis_intervals.h"
#include "ops/partition/digit_region.h"

namespace soapstone::ops::partition {

/// One expression a digit: `index` has one for each dimension (`dims` says which one a digit is
/// of), or a single one for all if it is flat. None: it is not seen to fall apart so.
std::optional<std::vector<Polynomial>>
digits_of_index(const std::vector<Polynomial>& index, const core::Dims& radices,
                const std::vector<std::size_t>& dims, bool is_flat, const analysis::Ranges& ranges);

/// What must be equal if position b among the elements that the digits take is to be position a
/// among all. None: the positions do not fall apart alike.
std::optional<std::vector<std::pair<Polynomial, Polynomial>>>
equal_places(const Polynomial& a, const Polynomial& b, const std::vector<DigitInterval>& digits,
             const analysis::Ranges& ranges);

/// Whether both constraints are seen to admit the same values. Then `ranges` become those.
bool narrow_alike(const std::vector<Constraint>& a, const std::vector<Constraint>& b,
                  analysis::Ranges& ranges);

/// Whether the constraints exclude what `all` has beyond `ranges`.
bool excludes_others(const std::vector<Constraint>& constraints, const analysis::Ranges& all,
                     const analysis::Ranges& ranges);

}  // namespace soapstone::ops::partition
