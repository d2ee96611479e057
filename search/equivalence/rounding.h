// How far apart two results may be before the difference means something. The tolerance follows
// from the element type and from how much rounding matters in the original itself (docs/adr/0020).
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::search {

/// A difference that needs no explanation: a few units in the last place of the output's size.
struct Floor {
  double relative = 0;  ///< Share of the larger of |expected| and the output's root mean square.
  double absolute = 0;
  double largest = 0;  ///< Finite number of the type; 0: the elements are integers.
  double spacing = 0;  ///< Next to one.
  /// How many times more rounding may add up to where the terms of sums are all alike.
  double of_equal_terms = 1;
  bool is_integer() const { return largest == 0; }
};

/// By output. The type that counts is the coarsest floating type that the output is computed with;
/// types that accumulate in themselves (f32, f64) get more with the longest sum.
std::vector<Floor> floors_of(const core::Graph& graph);

/// Next to one: 2^-23 for f32. 0 for types that are not floating.
double spacing(core::DataType type);

/// The effect of rounding in the original, as far as it is known, for one output of one sample.
struct Rounding {
  std::vector<double> exact;  ///< Values of the original in double precision; empty: not known.
  /// How far the original is from it; without it, how far two runs of the original are apart.
  double own_error = 0;
  double factor = 0;  ///< So many times the own error is allowed.
  /// And that many times more where rounding adds up: Floor::of_equal_terms.
  double equal_terms = 1;
  double allowed() const { return factor * equal_terms * own_error; }
  /// Allows for what the other does, too; the exact values stay.
  void widen(const Rounding& other);
};
/// The rounding of a result, given the same result in double precision.
Rounding rounding_of(const std::vector<double>& values, std::vector<double> exact);
/// How another run differs in rounding.
enum class OtherRun : std::uint8_t {
  kMoved,  ///< Other kernels, or inputs and weights as rounding might have left them.
  kNoisy,  ///< And what is computed between nodes, by up to twice what rounding does there.
};
/// The rounding shown by two runs that differ in rounding alone.
Rounding rounding_between(const std::vector<double>& values, const std::vector<double>& other,
                          OtherRun run);
/// The one of two that allows for more.
const Rounding& larger(const Rounding& a, const Rounding& b);

struct OutputError {
  std::string name;
  double max_abs_error = 0;
  double max_rel_error = 0;  ///< |a − b| over the larger of |a| and the output's root mean square.
  bool equal = true;         ///< Within tolerance on all samples; NaN and infinity must agree.
  bool is_operand = false;   ///< Of an opaque node.
  bool is_behind = false;    ///< Results of opaque nodes are on the way to it.
  /// Elements that were let through because they may overflow.
  std::size_t overflowed = 0;
};

/// Differences that the labels of the applied rules allow on inputs up to the ends of their types.
struct Latitude {
  bool may_overflow = false;  ///< The result may leave the range of its type in another way.
  bool may_recover = false;   ///< It may have a value where the original has none.
  bool may_lose = false;      ///< It may have no value where the original has one, in any type.
};

/// Shows whether the range of the types, and nothing else, makes results differ.
struct RangeEvidence {
  /// Both sides in double precision; empty: not known, as for results that are doubles themselves.
  std::vector<double> original, other;
  /// On the way to the result numbers left the range of their type, on either side.
  bool on_the_way = false;
};

/// Adds one sample to `error`. NaN and infinity must agree, but where the original overflowed in
/// its own type and not in double precision; there `actual` may also overflow, or be near the exact
/// result. If it may overflow, `range` decides: an element is let through, and counted, if both
/// sides agree there in double precision, and either is not finite or follows from what was not.
/// Returns whether the sample is within the tolerance.
bool compare(const std::vector<double>& expected, const std::vector<double>& actual,
             const Floor& floor, const Rounding* rounding, Latitude latitude,
             const RangeEvidence* range, OutputError& error);

/// Root mean square of what is finite.
double size_of(const std::vector<double>& values);
/// Of the elements that are finite on both sides.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace soapstone::search
