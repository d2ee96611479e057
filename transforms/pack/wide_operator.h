// Operators of siblings as one operator of tensors that lie side by side along an axis, each a
// block of the whole. What is summed over blocks takes a weight with a block for each sibling.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/rule.h"

namespace soapstone::transforms {

/// Tensors side by side along an axis: of one element type and rank, and of equal sizes along all
/// other axes. Behind a reshape of anchors and their classes they lie so within each of several
/// groups: the first group of each, then the second group of each, ….
struct Row {
  std::vector<core::TensorId> tensors;
  std::size_t axis = 0;
  std::int64_t groups = 1;
  auto operator<=>(const Row&) const = default;
};

/// What the siblings' operands at one place become.
struct WideOperand {
  enum class Kind : std::uint8_t {
    kMissing,   ///< An optional operand that is left out.
    kShared,    ///< All read one tensor, which has nothing of the axis.
    kRow,       ///< Each reads a block of its own.
    kRepeated,  ///< Likewise, once constants of size 1 are repeated along the axis.
    kSummed,    ///< The blocks of the row are summed over; several siblings may read one of them.
    kWeights,   ///< Constants that such a sum multiplies with.
  };
  Kind kind = Kind::kMissing;
  Row row = {};                          ///< Blocks, each once if they are summed over.
  std::vector<std::size_t> blocks = {};  ///< By sibling, if they are summed over.
  std::size_t summed_axis = 0;           ///< Of weights.
  bool is_whole = false;                 ///< The row stands as results of one split.
};

/// How siblings become one operator.
struct WideForm {
  std::vector<WideOperand> operands;
  bool adds_groups = false;  ///< Each sibling is a number of groups of its own.
  /// So many channels of a reshape's operand, with all that lies behind them, are one place of the
  /// result: groups of a norm. Then it goes through a shape in which they stand apart, as proofs
  /// need it.
  std::int64_t channels_of_group = 1;
};

/// Whether the tensors are results of nodes that do the same, but for sizes along the axis.
bool do_the_same(const core::Graph& graph, const Row& results);
/// None: the operator has no such form. `split`: what will be the results of one split by then.
/// Precondition: do_the_same().
std::optional<WideForm> wide_form(const core::Graph& graph, const Row& results,
                                  const Row* split = nullptr);

/// The rule that makes one operator of siblings. `any_sizes`: equal sizes of the graph are equal
/// sizes in the rule, whatever they are; otherwise they are these very numbers.
std::string wide_operator(const core::Graph& graph, const Row& results, const WideForm& form,
                          bool any_sizes);

/// The rule that takes the reshape of that sibling through such a shape.
std::string reshape_in_steps(const core::Graph& graph, const Row& results, const WideForm& form,
                             std::size_t sibling);

/// Operands of a join that are a row of their own.
struct RowOfJoin {
  std::size_t first = 0, count = 0;
  std::size_t end() const { return first + count; }
};
/// The rule that joins wholes instead of their blocks. Precondition: the rows are in order.
std::string wide_join(const core::Graph& graph, const core::Node& join,
                      const std::vector<RowOfJoin>& rows, bool any_sizes);

}  // namespace soapstone::transforms
