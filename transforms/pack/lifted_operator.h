// The text of rules that lift one operator from items to the tensor of which they are items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/rule.h"

namespace soapstone::transforms {

/// Where an operand of siblings comes from.
enum class Source : std::uint8_t {
  kShared,    ///< All read one tensor.
  kItems,     ///< Each reads an item of one tensor.
  kSeparate,  ///< Each reads a tensor of its own; they are stacked.
  kMissing,   ///< An optional operand that is left out.
};

/// Operands of a join that are items in turn: operands first, first + period, … are the items of
/// one tensor, those behind each of them those of a second one, and so on.
struct Run {
  std::size_t first = 0, period = 1, count = 2;
  std::size_t end() const { return first + period * count; }
};

/// A kind of node, and what becomes of it for a number of siblings. Items are taken of the first
/// dimension.
struct Lifting {
  const core::Graph& graph;
  const core::Node& node;
  std::size_t count = 2;         ///< How many siblings.
  std::vector<Source> sources;   ///< By operand.
  std::vector<Run> runs = {};    ///< Of the operands of a join.
  std::vector<bool> items = {};  ///< Of the terms of a sum: which are items; empty: all.
  /// Equal sizes of the node are equal sizes in the rule, whatever they are; otherwise they are
  /// these very numbers.
  bool any_sizes = true;
};

/// Whether the operator has a form for items at all.
bool can_be_lifted(const core::Graph& graph, const core::Node& node);
/// None: there is no such form.
std::optional<std::string> lifted_operator(const Lifting& lifting);
/// Whether that is a norm without factors and offsets, and these behind it, as siblings have their
/// own: other rounding.
bool is_lifted_in_steps(const Lifting& lifting);
/// The rule that joins what stands in runs before all is joined. Preconditions: the operator joins;
/// runs are in order, of operands of one type each.
std::optional<std::string> joined_in_groups(const Lifting& lifting);
/// The rule for items that are joined. Precondition: there is one run.
std::optional<std::string> joined_items(const Lifting& lifting);
/// The rule for the sum of that many items of the operand's shape, and of the other terms, if there
/// are some: then the sum of the items is the last operand of the result.
std::optional<std::string> summed_items(const Lifting& lifting);
/// The rule for that sum of lifted products as one contraction. Precondition: the node multiplies.
std::optional<std::string> summed_products(const Lifting& lifting);

}  // namespace soapstone::transforms
