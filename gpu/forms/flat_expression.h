// The elements of one tensor of a region as one expression over the tensors in memory: results of
// stages in between are put into where they are read. Transposes, reshapes and cuts then are
// strides, which is what libraries are told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/generated/index_space.h"
#include "runtime/generated/region.h"

namespace soapstone::gpu {

using runtime::generated::Affine;
using runtime::generated::Region;

/// A loop over the elements of the tensor, or over the terms of a sum: a variable of positions.
struct FlatLoop {
  std::uint32_t variable = 0;
  std::int64_t size = 1;
};

struct FlatNode {
  ops::evaluation::NodeKind kind = ops::evaluation::NodeKind::kNumber;
  ops::Rational number;
  std::uint32_t tensor = 0;  ///< Of a read: of the region.
  Affine position;           ///< Of a read: in elements, over the variables of loops.
  ops::Function function = ops::Function::kRelu;
  std::vector<std::uint32_t> children;  ///< Numbers of nodes before this one.
  std::vector<FlatLoop> loops;          ///< Of a sum or maximum.
  bool is_conditional = false;          ///< It has constraints: not all of its terms count.
};

struct FlatExpression {
  std::vector<FlatNode> nodes;  ///< Equal reads are one node. The last one is the root.
  std::vector<FlatLoop> axes;   ///< Of the tensor, outermost first: row-major digits.
  std::size_t root() const { return nodes.size() - 1; }
};

/// `dims` are those of the tensor. `known` is a tensor that is read as if it were in memory. An
/// axis is cut in two where a position needs digits of it. Errors: kUnsupported where positions are
/// not sums of variables then.
core::Result<FlatExpression> flatten(const Region& region, std::uint32_t tensor,
                                     const core::Dims& dims,
                                     std::optional<std::uint32_t> known = {});

/// The row-major position of the element at the axes.
Affine position_of_element(std::span<const FlatLoop> axes);

/// A term of a sum: a number times a node.
struct AddedTerm {
  std::uint32_t node = 0;
  double factor = 1;
};
/// The node as a sum: sums of sums are taken apart, and numbers that multiply them.
std::vector<AddedTerm> terms_of(const FlatExpression& expression, std::size_t node);

/// The value of a node that depends on the node `variable` and numbers only; none: it reads
/// something else.
std::optional<double> evaluate(const FlatExpression& expression, std::size_t node,
                               std::size_t variable, double value);

}  // namespace soapstone::gpu
