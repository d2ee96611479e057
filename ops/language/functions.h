// The named scalar functions that comprehensions may apply, with the properties that proofs and
// checks may rely on. A function that is missing here cannot be used by any operator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace soapstone::ops {

enum class Function : std::uint8_t {
  kRelu,
  kExp,
  kLog,
  kSqrt,
  kTanh,
  kSigmoid,
  kErf,
  kAbs,
  kFloor,
  kCeil,
  kRound,
  kSin,
  kCos,
  kPow,       ///< (x, y) ↦ x^y
  kSelect,    ///< (c, a, b) ↦ a if c ≠ 0, else b
  kLess,      ///< (a, b) ↦ 1 if a < b, else 0
  kEqual,     ///< (a, b) ↦ 1 if a = b, else 0
  kTruncate,  ///< toward zero, as a cast to an integer does
  kIsZero,    ///< 1 if x = 0, else 0: logical not
  kLessOrEqual,  ///< (a, b) ↦ 1 if a ≤ b, else 0: not ¬(b < a), which is 1 where an operand is NaN
  kLog1p,        ///< log(1 + x), also where 1 + x rounds to 1
  kIsNan,        ///< 1 if x is not a number, else 0: of real numbers no proof may say that it is 0
  kIsInfinite,  ///< 1 if x is ∞ or −∞, else 0: likewise
};

struct FunctionProperties {
  std::string_view name;
  std::uint8_t arity;
  bool zero_preserving = false;         ///< f(0) = 0
  bool odd = false;                     ///< f(−x) = −f(x)
  bool even = false;                    ///< f(−x) = f(x)
  bool monotone = false;                ///< x ≤ y → f(x) ≤ f(y): commutes with max
  bool positively_homogeneous = false;  ///< f(c·x) = c·f(x) for c ≥ 0
  bool non_negative = false;
  bool idempotent = false;  ///< f(f(x)) = f(x)
  bool positive = false;    ///< f(x) > 0
  bool integral = false;    ///< f(x) is an integer
  /// f(x) ≠ 0 wherever x ≠ 0 and f has a value; with zero_preserving: 0 nowhere else.
  bool zero_only_at_zero = false;
};

const FunctionProperties& properties(Function function);
std::optional<Function> parse_function(std::string_view name);
/// The value in IEEE double arithmetic. Precondition: as many arguments as the arity.
double evaluate(Function function, std::span<const double> arguments);

}  // namespace soapstone::ops
