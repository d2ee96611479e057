// The statement of a rule on floating point beyond the equality of real numbers: for which types
// its proof holds, and what it does at the edges of their ranges. It stands in the evidence line of
// a rule and decides whether a match of these types may be replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor_type.h"

namespace soapstone::rules {

/// How a rule treats floating-point numbers; each includes what stands before it.
enum class FloatBehavior : std::uint8_t {
  kExact,
  kReassociates,
  kExtendsRange,  ///< The target has a value wherever the source has one, and at other inputs too.
  kChangesRange,  ///< The target has no value, or has lost it, at inputs where the source has one.
};

/// The floating types for which a proof holds: those that the rule's f32 inputs may stand for.
struct FloatTypes {
  enum class Kind : std::uint8_t { kUnknown, kAny, kListed };
  Kind kind = Kind::kUnknown;
  std::vector<core::DataType> listed = {};  ///< Ascending, each once.

  static FloatTypes any() { return {Kind::kAny}; }
  static FloatTypes only(std::vector<core::DataType> types);
  bool known() const { return kind != Kind::kUnknown; }
  bool hold_for(core::DataType type) const;
  /// The types for which both hold; what is not known of one of them is not known.
  FloatTypes operator&(const FloatTypes& other) const;
  bool operator==(const FloatTypes&) const = default;
};

/// A difference between target and source at the edges of a type. An element "has a value" if it is
/// finite and the limited range of the type has not taken more than half of it. A truth value or an
/// integer has lost its value if it is another one than without that limit; one that a machine may
/// choose, as a cast of NaN to an integer, counts as NaN.
enum class EdgeEffect : std::uint8_t {
  kOverflow,   ///< On finite inputs, the source has a value, the target is not finite.
  kUnderflow,  ///< On finite inputs, the source has a value, the target has lost it.
  kRecovers,   ///< On finite inputs, the target has a value, the source has none.
  kNan,        ///< The target is NaN, the source is not; on finite inputs, the source is infinite.
  kDropsNan,   ///< The source is NaN, the target is not, and some input is not finite.
  kInfinity,   ///< Infinite inputs: one side is infinite where the other is another number.
  kZeroSign,   ///< 0 and −0.
  /// NaN or infinities among the inputs: both sides have values, and different ones. Comparisons do
  /// that, and all that is chosen by them.
  kOtherValue,
};

/// An effect was seen where all numbers that the source meets are such as networks have, or only
/// where one of them is extreme for its type.
enum class EdgeReach : std::uint8_t { kExtreme, kOrdinary };

struct Edge {
  core::DataType type = core::DataType::kFloat32;
  EdgeEffect effect = EdgeEffect::kOverflow;
  EdgeReach reach = EdgeReach::kOrdinary;
  bool operator==(const Edge&) const = default;
};

/// The types at whose edges rules are tried. f64 is taken to behave as f32 does.
inline constexpr core::DataType kEdgeTypes[] = {core::DataType::kFloat32, core::DataType::kFloat16,
                                                core::DataType::kBFloat16};

/// The effects of a rule, each of a type once, with the nearest reach.
class Edges {
 public:
  void note(Edge edge);
  void note(const Edges& others);
  bool empty() const { return all_.empty(); }
  const std::vector<Edge>& all() const { return all_; }  ///< By effect, reach and type.
  bool has(core::DataType type, EdgeEffect effect, EdgeReach reach) const;
  bool operator==(const Edges&) const = default;

 private:
  std::vector<Edge> all_;
};

/// The behavior that the edges show for a type: an ordinary overflow or underflow changes the
/// range; ordinary inputs at which the target alone has values extend it.
FloatBehavior range_behavior(const Edges& edges, core::DataType type);

std::string_view to_string(FloatBehavior floats);
/// `any`, or `f32, f64`.
std::string to_string(const FloatTypes& types);
/// `none`, or `extreme overflow, f16 overflow, zero-sign`: an effect without a type is one of all
/// types that are tried, and f16 overflows at ordinary magnitudes, too.
std::string to_string(const Edges& edges);
/// Errors: kInvalidInput without a place, naming the words that there are.
core::Result<FloatBehavior> parse_float_behavior(std::string_view text);
core::Result<FloatTypes> parse_float_types(std::string_view text);
core::Result<Edges> parse_edges(std::string_view text);

}  // namespace soapstone::rules
