// The text of rules about cuts of one tensor at shifted places.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// Where a cut lies along one dimension: place p of `count` is that of the whole at
/// `start` + p·`step`, or 0 where the whole has none.
struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
  bool operator==(const Cut&) const = default;
};
/// By dimension.
using Shift = std::vector<Cut>;

/// Cuts of one tensor, which have one shape but for the channels of what is joined, and what is
/// made of them.
struct Shifted {
  core::TensorId whole;
  std::map<core::TensorId, Shift> cuts;  ///< Those that are used.
  core::TensorId result;
};

/// The rule for a result that adds and subtracts cuts, times constants. Empty: the constants vary
/// along a dimension of places, or the window is too large.
std::vector<std::string> sum_of_shifts(const core::Graph& graph, const Shifted& all);

/// Rules for a result that multiplies, or convolves, a join of cuts along its channels: for any
/// number of them, and for that of the graph. Empty: likewise, or places beside the cuts are 0
/// where those of the whole are not.
std::vector<std::string> join_of_shifts(const core::Graph& graph, const Shifted& all);

}  // namespace soapstone::transforms
