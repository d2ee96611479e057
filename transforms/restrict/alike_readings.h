// One operator whose result is only read in one way: summed along axes, or some of its rows chosen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

using Axes = std::vector<std::size_t>;

/// How the names of their rules begin: `reduced_matmul`, `chosen_matmul`.
inline constexpr std::string_view kReducedPrefix = "reduced_";
inline constexpr std::string_view kChosenPrefix = "chosen_";

/// A node that sums a tensor along axes, or takes means, or chooses rows along one axis.
struct Reading {
  const core::Node* like;  ///< A node that reads so.
  bool reduces;
  Axes axes;                                 ///< Ascending.
  bool keeps_rank;                           ///< Reduced axes stay.
  std::int64_t left;                         ///< The size of each of these axes in the result.
  core::NodeId node = core::NodeId::none();  ///< Of the graph; none: a step makes it.
  std::size_t part = 0;                      ///< Of the graph.
};

/// None: the node does not read so.
std::optional<Reading> reading_of(const core::Graph& graph, const core::Node& node);
bool are_alike(const Reading& a, const Reading& b);

struct ReadOperator {
  std::vector<std::string> texts;  ///< Of the rule; its results are those of the readings.
  std::vector<Axes> axes;          ///< By operand: along which it is read so; none: it is whole.
};
/// None: the operator mixes places of these axes, or is not linear in what is summed.
/// Preconditions: the readings are alike; no operand is missing, all sizes are known numbers above
/// 0.
std::optional<ReadOperator> read_operator(const core::Graph& graph, const core::Node& node,
                                          const std::vector<Reading>& readings);

}  // namespace soapstone::transforms
