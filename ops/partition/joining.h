// What the results of an operator's parts come to if some of its variables run over parts of their
// ranges: elements of the result, or summands or candidates for the maximum, perhaps of a stage.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ops/partition/digit_space.h"
#include "ops/partition/loops.h"

namespace soapstone::ops::partition {

struct Joining {
  std::vector<Joined> outputs;  ///< By output of the operator.
  std::vector<StageJoin> between;
  std::vector<std::size_t> once;
  std::optional<std::size_t> selected_by;
};

/// `cut`: digits of index variables that are cut alike. None: parts cannot be put together.
std::optional<Joining> joining_of(const DigitSpace& space, const std::set<Symbol>& cut);

}  // namespace soapstone::ops::partition
