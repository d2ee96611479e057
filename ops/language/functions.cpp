// The property table of the scalar functions, and their values in doubles. A property is listed
// only if it holds for every real argument: √ and log are not called monotone, because
// max(√a, √b) has no value where √max(a, b) has one.
#include "ops/language/functions.h"

#include <array>
#include <cmath>

#include "core/base/check.h"

namespace soapstone::ops {
namespace {

constexpr std::size_t kFunctionCount = static_cast<std::size_t>(Function::kIsInfinite) + 1;

constexpr std::array<FunctionProperties, kFunctionCount> kProperties = {{
    {.name = "relu",
     .arity = 1,
     .zero_preserving = true,
     .monotone = true,
     .positively_homogeneous = true,
     .non_negative = true,
     .idempotent = true},
    {.name = "exp", .arity = 1, .monotone = true, .non_negative = true, .positive = true},
    {.name = "log", .arity = 1},
    {.name = "sqrt",
     .arity = 1,
     .zero_preserving = true,
     .non_negative = true,
     .zero_only_at_zero = true},
    {.name = "tanh",
     .arity = 1,
     .zero_preserving = true,
     .odd = true,
     .monotone = true,
     .zero_only_at_zero = true},
    {.name = "sigmoid", .arity = 1, .monotone = true, .non_negative = true, .positive = true},
    {.name = "erf",
     .arity = 1,
     .zero_preserving = true,
     .odd = true,
     .monotone = true,
     .zero_only_at_zero = true},
    {.name = "abs",
     .arity = 1,
     .zero_preserving = true,
     .even = true,
     .positively_homogeneous = true,
     .non_negative = true,
     .idempotent = true,
     .zero_only_at_zero = true},
    {.name = "floor",
     .arity = 1,
     .zero_preserving = true,
     .monotone = true,
     .idempotent = true,
     .integral = true},
    {.name = "ceil",
     .arity = 1,
     .zero_preserving = true,
     .monotone = true,
     .idempotent = true,
     .integral = true},
    {.name = "round",
     .arity = 1,
     .zero_preserving = true,
     .odd = true,
     .monotone = true,
     .idempotent = true,
     .integral = true},
    {.name = "sin", .arity = 1, .zero_preserving = true, .odd = true},
    {.name = "cos", .arity = 1, .even = true},
    {.name = "pow", .arity = 2},
    {.name = "select", .arity = 3},
    {.name = "less", .arity = 2, .non_negative = true, .integral = true},
    {.name = "equal", .arity = 2, .non_negative = true, .integral = true},
    {.name = "truncate",
     .arity = 1,
     .zero_preserving = true,
     .odd = true,
     .monotone = true,
     .idempotent = true,
     .integral = true},
    {.name = "is_zero", .arity = 1, .even = true, .non_negative = true, .integral = true},
    {.name = "less_or_equal", .arity = 2, .non_negative = true, .integral = true},
    {.name = "log1p", .arity = 1, .zero_preserving = true, .zero_only_at_zero = true},
    // What tells special values from numbers has no property that a proof could use: a rule that
    // took it for 0 would drop the guard of a user against such values.
    {.name = "is_nan", .arity = 1, .non_negative = true, .integral = true},
    {.name = "is_infinite", .arity = 1, .non_negative = true, .integral = true},
}};

}  // namespace

const FunctionProperties& properties(Function function) {
  const auto k = static_cast<std::size_t>(function);
  CHECK(k < kFunctionCount, "no such function");
  return kProperties[k];
}

std::optional<Function> parse_function(std::string_view name) {
  for (std::size_t k = 0; k < kFunctionCount; ++k)
    if (kProperties[k].name == name) return static_cast<Function>(k);
  return std::nullopt;
}

double evaluate(Function function, std::span<const double> a) {
  CHECK(a.size() == properties(function).arity, "wrong number of arguments");
  const double x = a[0];
  switch (function) {
  case Function::kRelu:
    return x < 0 ? 0.0 : x;  // NaN stays NaN
  case Function::kExp:
    return std::exp(x);
  case Function::kLog:
    return std::log(x);
  case Function::kSqrt:
    return std::sqrt(x);
  case Function::kTanh:
    return std::tanh(x);
  case Function::kSigmoid:
    return 1.0 / (1.0 + std::exp(-x));
  case Function::kErf:
    return std::erf(x);
  case Function::kAbs:
    return std::fabs(x);
  case Function::kFloor:
    return std::floor(x);
  case Function::kCeil:
    return std::ceil(x);
  case Function::kRound:
    return std::nearbyint(x);  // halves to even, as ONNX Round does
  case Function::kSin:
    return std::sin(x);
  case Function::kCos:
    return std::cos(x);
  case Function::kPow:
    return std::pow(x, a[1]);
  case Function::kSelect:
    return x != 0 ? a[1] : a[2];
  case Function::kLess:
    return x < a[1] ? 1.0 : 0.0;
  case Function::kEqual:
    return x == a[1] ? 1.0 : 0.0;
  case Function::kTruncate:
    return std::trunc(x);
  case Function::kIsZero:
    return x == 0 ? 1.0 : 0.0;
  case Function::kLessOrEqual:
    return x <= a[1] ? 1.0 : 0.0;
  case Function::kLog1p:
    return std::log1p(x);
  case Function::kIsNan:
    return std::isnan(x) ? 1.0 : 0.0;
  case Function::kIsInfinite:
    return std::isinf(x) ? 1.0 : 0.0;
  }
  CHECK(false, "unreachable");
}

}  // namespace soapstone::ops
