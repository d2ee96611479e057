// The moves of the search for plans: which kinds there are (rules/), and how they are taken.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/transform.h"

namespace soapstone::search {

struct PlanMove {
  /// One after the other; where they must pay, again as long as they do.
  std::vector<const transforms::Transform*> transforms;
  /// Whether plans are taken only where they pay. Others make room for plans of other kinds.
  bool must_pay = true;
  /// How the name of a rule begins without which this leads to what others lead to.
  std::string_view needs = {};
};

// All in the order in which they are tried; they live as long as the program.

/// Of one kind of plan each, or little more.
std::span<const PlanMove> plan_moves();
/// Moves one after the other: what orders begin with.
std::span<const std::vector<PlanMove>> plan_starts();
/// Of many kinds, in orders that lead far.
std::span<const PlanMove> plan_orders();

}  // namespace soapstone::search
