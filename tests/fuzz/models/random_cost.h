// Costs drawn at random: with some of them any rule pays, so a fuzzer gets to see rules that
// realistic costs would never choose.
#pragma once

#include <cstdint>
#include <memory>

#include "cost/models/cost_model.h"
#include "rules/rule/rule.h"

namespace soapstone {

/// A node costs between 1 and 256 us, by a hash of the seed, its operator, and, but for every
/// eighth seed, its attributes and input shapes. Every node is a launch of its own; views and
/// constant expressions cost nothing. If `favor` has a rule, operators that only its target has
/// cost a sixteenth, and operators that only its source has sixteen times as much, so that it pays
/// more often.
std::unique_ptr<cost::CostModel> make_random_cost(std::uint64_t seed,
                                                  const rules::Rule* favor = nullptr);

}  // namespace soapstone
