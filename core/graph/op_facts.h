// The vocabulary in which an operator's definition states what others ask about its attributes,
// its operands and its results. Whoever treats operators alike asks for these, never for a name.
#pragma once

#include <cstdint>

namespace soapstone::core {

enum class AttributeKind : std::uint8_t { kInt, kReal, kText, kInts };

/// The role of an attribute: what its numbers stand for. The role also fixes the kind of its
/// values.
enum class AttributeRole : std::uint8_t {
  kAxis,          ///< One dimension.
  kAxes,          ///< Several dimensions, ascending.
  kPermutation,   ///< All dimensions, in another order.
  kShape,         ///< The shape of the result.
  kStart,         ///< The start of a piece, for each of the axes.
  kExtent,        ///< How long a piece is, for each of the axes.
  kStep,          ///< The distance between the elements of a piece, for each of the axes.
  kParts,         ///< The sizes of the results along the axis; they add up to the operand's.
  kStride,        ///< How far a window moves, for each dimension that it slides over.
  kDilation,      ///< The distance between the elements of a window.
  kPad,           ///< Rows beside an image that windows may see: all begins, then all ends.
  kWindow,        ///< The size of a window.
  kGroup,         ///< Into how many groups channels are divided.
  kBorder,        ///< Elements added at both ends of each dimension; negative ones are cut off.
  kGap,           ///< Elements put between or behind others, for each dimension.
  kRatio,         ///< A factor of a size, for each dimension.
  kLabels,        ///< Values of an operand that count as no label.
  kInteger,       ///< Any integer: a number of a diagonal, a distance.
  kFlag,          ///< 0 or 1.
  kKeepsRank,     ///< A flag: whether reduced dimensions stay as 1.
  kCountsPad,     ///< A flag: whether rows beside an image count in averages.
  kReal,          ///< A number.
  kPositiveReal,  ///< A number above 0.
  kVariant,       ///< One of a few texts, which the schema proposes.
  kElementType,   ///< The name of an element type.
  kInput,         ///< The number of an input.
  kInputShapes,   ///< Shapes of inputs, each as its rank and its sizes.
  kEquation,      ///< Labels of the dimensions of each operand, and of the result: `ab,bc->ac`.
  kText,          ///< Any other text.
};

constexpr AttributeKind kind_of(AttributeRole role) {
  switch (role) {
  case AttributeRole::kAxis:
  case AttributeRole::kGroup:
  case AttributeRole::kInteger:
  case AttributeRole::kFlag:
  case AttributeRole::kKeepsRank:
  case AttributeRole::kInput:
  case AttributeRole::kCountsPad:
    return AttributeKind::kInt;
  case AttributeRole::kReal:
  case AttributeRole::kPositiveReal:
    return AttributeKind::kReal;
  case AttributeRole::kVariant:
  case AttributeRole::kElementType:
  case AttributeRole::kEquation:
  case AttributeRole::kText:
    return AttributeKind::kText;
  default:
    return AttributeKind::kInts;
  }
}

/// How an operator that computes no new numbers puts its results together.
enum class Movement : std::uint8_t {
  kNone,      ///< It computes.
  kReshape,   ///< The elements of its operand in the same order, in another shape.
  kPermute,   ///< Dimensions in another order.
  kRepeat,    ///< Dimensions of size 1 repeated, and new ones in front.
  kCut,       ///< One piece of its operand.
  kSplit,     ///< Consecutive pieces along one dimension, a result for each.
  kJoin,      ///< Its operands one behind the other along one dimension.
  kFrame,     ///< Its operand among elements of one value, or less its border.
  kSelect,    ///< Slices of its first operand, which its second one numbers.
  kChoose,    ///< For each element that of the second or of the third operand.
  kConvert,   ///< Elements of its operand in another element type.
  kFill,      ///< The same number everywhere.
  kDiagonal,  ///< A unit matrix.
  kOther,     ///< In a way of its own.
};

/// The role of an operand in its operator.
enum class OperandRole : std::uint8_t {
  kData,         ///< Nothing in particular.
  kImage,        ///< [batch, channels, dimensions that windows slide over…]
  kKernel,       ///< [channels, channels, a window…]
  kChannels,     ///< One number for each channel of an image.
  kFeatures,     ///< One number for each position along the axis.
  kLeftMatrix,   ///< [batch…, rows, summed]
  kRightMatrix,  ///< [batch…, summed, columns]
  kIndices,      ///< Positions in a dimension of another operand.
};

}  // namespace soapstone::core
