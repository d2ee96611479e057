// Each derivative is written in the functions that comprehensions have, so that executors, proofs
// and counts of work need to know nothing of derivatives.
#include "ops/gradients/derivatives.h"

#include <numbers>

#include "core/base/check.h"

namespace soapstone::ops {
namespace {

Expr zero() { return number(Rational{0, 1}); }
Expr one() { return number(Rational{1, 1}); }

/// x^y by x: y·x^(y−1), and 0 for y = 0, where x^(−1) may be infinite. By y: x^y·log x.
Expr derivative_of_power(const Expr& x, const Expr& y, std::size_t k) {
  if (k == 1) return apply(Function::kPow, {x, y}) * apply(Function::kLog, {x});
  return apply(Function::kSelect, {y, y * apply(Function::kPow, {x, y - one()}), zero()});
}

}  // namespace

Expr derivative(Function function, const std::vector<Expr>& arguments, std::size_t k) {
  CHECK(k < arguments.size(), "a function has no such argument");
  const Expr& x = arguments[0];
  const auto itself = [&] { return apply(function, arguments); };
  switch (function) {
  case Function::kRelu:
    return apply(Function::kLess, {zero(), x});
  case Function::kExp:
    return itself();
  case Function::kLog:
    return inverse(x);
  case Function::kLog1p:
    return inverse(one() + x);
  case Function::kSqrt:
    return inverse(number(2.0) * itself());
  case Function::kTanh:
    return one() - itself() * itself();
  case Function::kSigmoid:
    return itself() * (one() - itself());
  case Function::kErf:
    return number(2.0 * std::numbers::inv_sqrtpi) * apply(Function::kExp, {number(-1.0) * (x * x)});
  case Function::kAbs:
    return apply(Function::kLess, {zero(), x}) - apply(Function::kLess, {x, zero()});
  case Function::kSin:
    return apply(Function::kCos, {x});
  case Function::kCos:
    return number(-1.0) * apply(Function::kSin, {x});
  case Function::kPow:
    return derivative_of_power(x, arguments[1], k);
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kTruncate:
  case Function::kIsZero:
  case Function::kIsNan:
  case Function::kIsInfinite:
  case Function::kLess:
  case Function::kLessOrEqual:
  case Function::kEqual:
    return nullptr;
  case Function::kSelect:
    break;
  }
  CHECK(false, "a selection has no slope: it passes its cotangent to the value that it selects");
}

}  // namespace soapstone::ops
