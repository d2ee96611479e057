// Two files may hold the same opaque nodes in another order, more often in one, or some in one
// alone. Which of them compute the same is found here, so that both graphs are cut alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "runtime/launches/backend.h"
#include "search/equivalence/cut.h"

namespace soapstone::search {

/// Answers of files about their opaque nodes, beside operator and attributes.
struct OpaqueFacts {
  /// Whether the node is the same operator in both files, which may use other opsets.
  std::function<bool(const core::Node&)> means_the_same = [](const core::Node&) { return true; };
  /// Whether the node computes the same each time that it reads the same. Random numbers do not.
  std::function<bool(const core::Node&)> is_repeatable = [](const core::Node&) { return false; };
};

struct CutPair {
  CutGraph a, b;  ///< With the same inputs, and outputs of the same number.
  /// By output: it is an operand of an opaque node.
  std::vector<bool> is_operand;
  /// By output: opaque results are on the way to it, in either graph.
  std::vector<bool> is_behind;
  /// "Mod of node m": there is no such node in the other graph that reads the same.
  std::vector<std::string> unmatched;
};

/// Opaque nodes are taken to be one function if operator, domain, attributes and subgraphs are
/// equal, and to be applied to the same if their operands are made alike or have nearly the same
/// values on one input. Their results are one new input in both graphs then, and their operands are
/// outputs, to be compared on all samples. A node that has no such counterpart has a new input of
/// its own. Precondition: the graphs have inputs and outputs of the same types.
core::Result<CutPair> cut_pair(const core::Graph& a, const core::Graph& b, const OpaqueFacts& facts,
                               runtime::Backend& backend, std::uint64_t seed);

}  // namespace soapstone::search
