// Arithmetic of exact integers and what the scalar functions become there. Private to the
// evaluator.
#pragma once

#include "ops/evaluation/integers.h"

namespace soapstone::ops::integers {

inline bool is_none(Integer a) { return a == kNoInteger; }

inline Integer add(Integer a, Integer b) {
  Integer sum;
  return is_none(a) || is_none(b) || __builtin_add_overflow(a, b, &sum) ? kNoInteger : sum;
}
inline Integer multiply(Integer a, Integer b) {
  Integer product;
  return is_none(a) || is_none(b) || __builtin_mul_overflow(a, b, &product) ? kNoInteger : product;
}
inline Integer larger(Integer a, Integer b) {
  if (is_none(a) || is_none(b)) return kNoInteger;
  return a < b ? b : a;
}
/// Only 1 and −1 have one.
inline Integer inverse(Integer a) { return a == 1 || a == -1 ? a : kNoInteger; }

/// Whether `function` rounds, so that it has a value for every quotient of integers.
bool rounds(Function function);
/// a/b rounded by such a function: exact, where a·(1/b) would have no value.
Integer quotient(Function rounding, Integer a, Integer b);

/// No value if the number is a fraction. ±∞ are the ends of the order.
Integer from_rational(Rational value);
/// `arguments` are as many as the arity.
Integer apply(Function function, const Integer* arguments);

}  // namespace soapstone::ops::integers
