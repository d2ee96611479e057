// The ranges of an operator's results, from those of its operands, by interpreting its definition.
// Intervals alone would not do: exp(x − max x) never overflows, and a sum over a row of it is at
// least 1. So it is noted which tensor is the maximum of another one, and what a truth value says
// of an element.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "ops/ranges/float_range.h"

namespace soapstone::ops {

/// Of which inputs of a model the ranges are.
enum class InputMagnitude : std::uint8_t {
  /// Numbers as networks have them: up to 2^30, in f16 up to 2^7, and sums over many elements are
  /// no larger. What is not finite then was made by a division, a function, or a product.
  kOrdinary,
  /// Whatever the type can hold, NaN and infinities included.
  kAny,
};

/// A tensor's number across a graph: its id, or a negative number for a stage within a node.
using TensorNumber = std::int64_t;

/// What is known of every element of a tensor.
struct TensorFact {
  FloatRange range = {};
  TensorNumber number = 0;
  core::Shape shape = {};
  /// The tensor holds maxima, or sums, of another one: over the dimensions without a position, at
  /// the index that the others have here.
  struct Reduction {
    enum class Kind : std::uint8_t { kMaximum, kSum } kind = Kind::kMaximum;
    TensorNumber of = 0;
    std::vector<std::optional<std::size_t>> positions;  ///< By dimension of the other one.
    bool operator==(const Reduction&) const = default;
  };
  std::optional<Reduction> reduction = {};
  /// Along these dimensions together, some element is the upper bound of the range, or NaN. Empty:
  /// nothing is known.
  std::vector<std::size_t> attained = {};
  /// Elements are truth values; each says of the element at the same index of another tensor that
  /// it is none of these specials.
  struct Test {
    TensorNumber of = 0;
    Specials excluded_if_true = 0, excluded_if_false = 0;
    bool operator==(const Test&) const = default;
  };
  std::vector<Test> tests = {};
  /// Each element is the magnitude of the element at the same index there.
  std::optional<TensorNumber> magnitude_of = {};
  bool operator==(const TensorFact&) const = default;
};

/// How the specials of one operand show in the results of its node.
struct OperandUse {
  /// Those of which a result may be made that is finite.
  Specials absorbed = 0;
  /// Those that a comparison asks for which finite numbers decide in one way only: x = x, |x| = ∞.
  /// Whoever writes that means NaN and infinities.
  Specials tested = 0;
  /// The results that may be NaN since the operand is not finite, and those that may be infinite.
  std::vector<std::uint32_t> nan_in, infinite_in;
};

struct NodeFacts {
  std::vector<TensorFact> results;
  std::vector<OperandUse> operands;
};

/// Precondition: not opaque, all shapes known. `operands` by input; left-out inputs have any value.
NodeFacts facts_of(const core::Graph& graph, core::NodeId node,
                   const std::vector<const TensorFact*>& operands, InputMagnitude magnitude);

/// The range of the inputs of that type.
FloatRange input_range(core::DataType type, InputMagnitude magnitude);

}  // namespace soapstone::ops
