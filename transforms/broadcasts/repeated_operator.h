// Operators on tensors that repeat smaller ones, done to these.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/broadcasts/repeated.h"

namespace soapstone::transforms {

struct RepeatedOperator {
  std::vector<std::string> texts;  ///< Of the rule.
  std::vector<Repeated> results;   ///< Their bases have no numbers yet.
  /// By operand and axis: where the operator is given the base as it is.
  std::vector<std::vector<bool>> left_out;
  bool reassociates = false;
};

/// None: it has no such form, or no use for one. Preconditions: no operand is missing, all sizes
/// are known numbers above 0, the node is not opaque.
std::optional<RepeatedOperator> repeated_operator(const core::Graph& graph, const core::Node& node,
                                                  const std::vector<Repeated>& operands);

/// The texts of a rule, with symbols where sizes may be any and with numbers; `write` writes one.
template <class Write>
std::vector<std::string> in_both_ways(SizeNames sizes, const Write& write) {
  std::vector<std::string> texts;
  for (const bool symbols : {true, false}) {
    if (symbols && !sizes.has_open()) continue;
    sizes.write_symbols(symbols);
    texts.push_back(write(sizes));
  }
  return texts;
}

/// Names for all sizes of the tensors.
SizeNames open_sizes(const std::vector<Repeated>& tensors);

}  // namespace soapstone::transforms
