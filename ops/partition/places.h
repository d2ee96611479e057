// Where a loop is found in the tensors of its operator.
#pragma once

#include <set>
#include <vector>

#include "ops/partition/digit_space.h"
#include "ops/partition/loops.h"

namespace soapstone::ops::partition {

/// The dimensions of outputs that the digits index.
std::vector<LoopPlace> output_places(const DigitSpace& space, const std::set<Symbol>& loop);

/// The dimensions of inputs that move with the digits: every read of them does.
std::vector<LoopPlace> input_places(const DigitSpace& space, const std::set<Symbol>& loop);

}  // namespace soapstone::ops::partition
