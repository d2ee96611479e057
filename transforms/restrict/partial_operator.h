// One operator of whose results only pieces are read, computed from the pieces of its operands that
// these need. What it needs is told by its comprehension (ops/restriction).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "ops/analysis/analysis.h"

namespace soapstone::transforms {

/// A piece of a tensor: an interval of each of its dimensions.
using Box = std::vector<ops::Interval>;

Box whole_box(const core::Graph& graph, core::TensorId id);
/// The smallest one around both.
Box hull(Box a, const Box& b);
/// The one piece that the node takes of its operand. None: it takes no box.
std::optional<Box> piece_taken(const core::Node& node, const core::Graph& graph);

/// A piece of a result that something reads.
struct WantedPiece {
  std::size_t output = 0;
  Box box;
};

/// What is read of an operand: all, a piece, or nothing.
struct OperandPiece {
  bool is_whole = false;
  std::optional<Box> box = {};
};

struct PartialOperator {
  std::vector<std::string> texts;  ///< Of the rule; its results are the wanted pieces.
  std::vector<OperandPiece> operands;
};

/// None: nothing would be saved, or the operator has no form that computes less. Preconditions: all
/// sizes are known numbers above 0, the node is not opaque; a piece of each result that is read.
std::optional<PartialOperator> partial_operator(const core::Graph& graph, core::NodeId id,
                                                const std::vector<WantedPiece>& wanted);

struct SeparateOperators {
  std::vector<std::string> texts;  ///< Of the rule; its results are the pieces.
  /// By operand, by piece: what is read of it. Boxes of one operand are cut in the order of the
  /// pieces.
  std::vector<std::vector<OperandPiece>> operands;
};

/// An operator of its own for each of these pieces of the only result, which `division` takes as
/// its results; null: cuts do. None: one of them reads all operands whole, or has no such form.
/// Preconditions: as above.
std::optional<SeparateOperators> separate_operators(const core::Graph& graph, core::NodeId id,
                                                    const std::vector<Box>& pieces,
                                                    const core::Node* division);

/// As partial_operator, for a node that divides its operand along one axis, if only these of its
/// results are read, all of each: the rule's results are these.
std::optional<PartialOperator> partial_split(const core::Graph& graph, const core::Node& node,
                                             const std::vector<std::size_t>& read);

}  // namespace soapstone::transforms
