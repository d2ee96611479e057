// Inner loops of the evaluator, over lanes and over the last binder of a sum of products; the only
// place that knows how doubles, field elements and integers are added, multiplied and compared.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/evaluation/field.h"
#include "ops/evaluation/integer_arithmetic.h"

namespace soapstone::ops::evaluation {

/// Value of lane l: data[l · stride].
template <class T>
struct Operand {
  const T* data;
  std::ptrdiff_t stride;
  T operator[](std::int64_t l) const { return data[l * stride]; }
};

template <class T>
struct Arithmetic;

template <>
struct Arithmetic<double> {
  using T = double;
  static T add(T a, T b) { return a + b; }
  static T multiply(T a, T b) { return a * b; }
  static T inverse(T a) { return 1.0 / a; }
  static T from_int(std::int64_t v) { return static_cast<T>(v); }
  static T least() { return -std::numeric_limits<T>::infinity(); }
  /// NaN if one is.
  static T larger(T a, T b) { return a < b || b != b ? b : a; }
  /// Whether v is a whole number, and which.
  static bool is_int(T v, std::int64_t& result) {
    if (!(std::fabs(v) < 0x1p62) || v != std::floor(v)) return false;
    result = static_cast<std::int64_t>(v);
    return true;
  }
};

template <>
struct Arithmetic<field::Value> {
  using T = field::Value;
  static T add(T a, T b) { return field::add(a, b); }
  static T multiply(T a, T b) { return field::multiply(a, b); }
  static T inverse(T a) { return field::inverse(a); }
  static T from_int(std::int64_t v) { return field::from_int(v); }
  static T least() { return field::kPrime / 2 + 1; }
  static T larger(T a, T b) { return field::to_signed(a) < field::to_signed(b) ? b : a; }
  static bool is_int(T v, std::int64_t& result) {
    result = field::to_signed(v);
    return true;
  }
};

template <>
struct Arithmetic<Integer> {
  using T = Integer;
  static T add(T a, T b) { return integers::add(a, b); }
  static T multiply(T a, T b) { return integers::multiply(a, b); }
  static T from_int(std::int64_t v) { return v; }
  static T least() { return kNoInteger + 1; }
  static T larger(T a, T b) { return integers::larger(a, b); }
  static bool is_int(T v, std::int64_t& result) {
    result = static_cast<std::int64_t>(v);
    return result == v;
  }
};

/// out[l] = combine(a[l], b[l]); unit and zero strides get loops that the compiler can vectorize.
template <class T, class F>
void combine(T* out, Operand<T> a, Operand<T> b, std::int64_t low, std::int64_t high, F f) {
  const T *x = a.data, *y = b.data;
  if (a.stride == 1 && b.stride == 1) {
    for (std::int64_t l = low; l < high; ++l) out[l] = f(x[l], y[l]);
  } else if (a.stride == 1 && b.stride == 0) {
    const T value = *y;
    for (std::int64_t l = low; l < high; ++l) out[l] = f(x[l], value);
  } else if (a.stride == 0 && b.stride == 1) {
    const T value = *x;
    for (std::int64_t l = low; l < high; ++l) out[l] = f(value, y[l]);
  } else {
    for (std::int64_t l = low; l < high; ++l) out[l] = f(a[l], b[l]);
  }
}

template <class T, class F>
void map(T* out, Operand<T> a, std::int64_t low, std::int64_t high, F f) {
  if (a.stride == 1) {
    const T* x = a.data;
    for (std::int64_t l = low; l < high; ++l) out[l] = f(x[l]);
  } else {
    for (std::int64_t l = low; l < high; ++l) out[l] = f(a[l]);
  }
}

inline void invert_lanes(double* out, Operand<double> a, std::int64_t low, std::int64_t high) {
  map(out, a, low, high, [](double x) { return 1.0 / x; });
}
/// One inverse for all lanes: 1/aₖ from the inverse of a product of many. Where a is 0 so is 1/a.
/// `out` may be where `a` is.
inline void invert_lanes(field::Value* out, Operand<field::Value> a, std::int64_t low,
                         std::int64_t high) {
  constexpr std::int64_t kLanes = 32;
  for (std::int64_t begin = low; begin < high; begin += kLanes) {
    const std::int64_t end = high - begin < kLanes ? high : begin + kLanes;
    field::Value values[kLanes], before[kLanes], product = 1;
    for (std::int64_t l = begin; l < end; ++l) {
      values[l - begin] = a[l];
      before[l - begin] = product;
      if (a[l] != 0) product = field::multiply(product, a[l]);
    }
    field::Value inverse = field::inverse(product);
    for (std::int64_t l = end; l-- > begin;) {
      const field::Value value = values[l - begin];
      out[l] = value == 0 ? 0 : field::multiply(inverse, before[l - begin]);
      if (value != 0) inverse = field::multiply(inverse, value);
    }
  }
}

inline void invert_lanes(Integer* out, Operand<Integer> a, std::int64_t low, std::int64_t high) {
  map(out, a, low, high, integers::inverse);
}

template <class T>
void copy(T* out, Operand<T> a, std::int64_t low, std::int64_t high) {
  map(out, a, low, high, [](T x) { return x; });
}

template <class T>
void fill(T* out, T value, std::int64_t low, std::int64_t high) {
  for (std::int64_t l = low; l < high; ++l) out[l] = value;
}

inline void apply_lanes(Function function, const Operand<double>* a, double* out, std::int64_t low,
                        std::int64_t high, std::uint64_t) {
  switch (function) {
  case Function::kRelu:
    return map(out, a[0], low, high, [](double x) { return x < 0 ? 0.0 : x; });
  case Function::kExp:
    return map(out, a[0], low, high, [](double x) { return std::exp(x); });
  case Function::kTanh:
    return map(out, a[0], low, high, [](double x) { return std::tanh(x); });
  case Function::kErf:
    return map(out, a[0], low, high, [](double x) { return std::erf(x); });
  case Function::kSqrt:
    return map(out, a[0], low, high, [](double x) { return std::sqrt(x); });
  case Function::kSelect:
    for (std::int64_t l = low; l < high; ++l) out[l] = a[0][l] != 0 ? a[1][l] : a[2][l];
    return;
  default:
    break;
  }
  const std::size_t arity = properties(function).arity;
  for (std::int64_t l = low; l < high; ++l) {
    const double arguments[3] = {a[0][l], arity > 1 ? a[1][l] : 0, arity > 2 ? a[2][l] : 0};
    out[l] = evaluate(function, {arguments, arity});
  }
}

inline void apply_lanes(Function function, const Operand<field::Value>* a, field::Value* out,
                        std::int64_t low, std::int64_t high, std::uint64_t key) {
  const std::size_t arity = properties(function).arity;
  for (std::int64_t l = low; l < high; ++l) {
    const field::Value arguments[3] = {a[0][l], arity > 1 ? a[1][l] : 0, arity > 2 ? a[2][l] : 0};
    out[l] = field::apply(function, arguments, key);
  }
}

inline void apply_lanes(Function function, const Operand<Integer>* a, Integer* out,
                        std::int64_t low, std::int64_t high, std::uint64_t) {
  const std::size_t arity = properties(function).arity;
  for (std::int64_t l = low; l < high; ++l) {
    const Integer arguments[3] = {a[0][l], arity > 1 ? a[1][l] : 0, arity > 2 ? a[2][l] : 0};
    out[l] = integers::apply(function, arguments);
  }
}

/// Σ a[v]·b[v]. Four partial sums, so that additions need not wait for each other.
inline double dot(Operand<double> a, Operand<double> b, std::int64_t low, std::int64_t high) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::int64_t v = low;
  for (; v + 4 <= high; v += 4) {
    s0 += a[v] * b[v];
    s1 += a[v + 1] * b[v + 1];
    s2 += a[v + 2] * b[v + 2];
    s3 += a[v + 3] * b[v + 3];
  }
  for (; v < high; ++v) s0 += a[v] * b[v];
  return (s0 + s1) + (s2 + s3);
}

/// Products stay below 2^122, so 60 of them fit 128 bits before they must be reduced.
inline field::Value dot(Operand<field::Value> a, Operand<field::Value> b, std::int64_t low,
                        std::int64_t high) {
  constexpr std::int64_t kProducts = 60;
  field::Value sum = 0;
  for (std::int64_t v = low; v < high;) {
    const std::int64_t end = high - v < kProducts ? high : v + kProducts;
    field::Wide partial = sum;
    for (; v < end; ++v) partial += field::Wide{a[v]} * b[v];
    sum = field::fold(partial);
  }
  return sum;
}

inline Integer dot(Operand<Integer> a, Operand<Integer> b, std::int64_t low, std::int64_t high) {
  Integer sum = 0;
  for (std::int64_t v = low; v < high; ++v)
    sum = integers::add(sum, integers::multiply(a[v], b[v]));
  return sum;
}

inline double sum_of(Operand<double> a, std::int64_t low, std::int64_t high) {
  double s0 = 0, s1 = 0;
  std::int64_t v = low;
  for (; v + 2 <= high; v += 2) {
    s0 += a[v];
    s1 += a[v + 1];
  }
  return v < high ? s0 + s1 + a[v] : s0 + s1;
}

inline field::Value sum_of(Operand<field::Value> a, std::int64_t low, std::int64_t high) {
  field::Wide sum = 0;
  for (std::int64_t v = low; v < high; ++v) sum += a[v];
  return field::fold(sum);
}

inline Integer sum_of(Operand<Integer> a, std::int64_t low, std::int64_t high) {
  Integer sum = 0;
  for (std::int64_t v = low; v < high; ++v) sum = integers::add(sum, a[v]);
  return sum;
}

}  // namespace soapstone::ops::evaluation
