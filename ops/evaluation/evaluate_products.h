// The two innermost loops of a sum of products: over its last variable and over lanes, in the order
// that suits memory. This is where a convolution or a matrix product spends its time.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "ops/evaluation/evaluate_lanes.h"
#include "ops/evaluation/evaluate_program.h"

namespace soapstone::ops::evaluation {

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

/// Narrows [low, high) to the v for which step·v + rest ≥ 0 (or = 0).
inline void narrow(Constraint::Kind kind, std::int64_t step, std::int64_t rest, std::int64_t& low,
                   std::int64_t& high) {
  if (kind == Constraint::Kind::kZero) {
    const bool divides = rest % step == 0;
    low = std::max(low, divides ? -rest / step : high);
    high = std::min(high, divides ? -rest / step + 1 : low);
  } else if (step > 0) {
    low = std::max(low, step == 1 ? -rest : -floor_div(rest, step));
  } else {
    high = std::min(high, (step == -1 ? rest : floor_div(rest, -step)) + 1);
  }
}

struct Span {
  std::int64_t low, high;
};

template <class T>
struct ProductLoop {
  const Loop& loop;
  const std::int64_t* slots;
  Operand<T> a, b;  ///< By lane, at variable 0.
  const Product& product;

  /// sums[l] += Σ a[l, v]·b[l, v] over the range, for all lanes l.
  void run(Span range, Span lanes, T* sums) const {
    if constexpr (std::is_same_v<T, double>)
      if (product.lanes_inside) return by_variable(range, lanes, sums);
    by_lane(range, lanes, sums);
  }

 private:
  bool has_b() const { return product.a != product.b; }

  void by_lane(Span range, Span lanes, T* sums) const {
    for (std::int64_t l = lanes.low; l < lanes.high; ++l) {
      auto [low, high] = range;
      for (const Bound& bound : loop.lane_bounds)
        narrow(bound.kind, bound.step, slots[bound.form.slot] + bound.form.lane * l, low, high);
      if (low >= high) continue;
      const Operand<T> x{a.data + a.stride * l, product.a_stride};
      const Operand<T> y{b.data + b.stride * l, product.b_stride};
      sums[l] = Arithmetic<T>::add(sums[l], has_b() ? dot(x, y, low, high) : sum_of(x, low, high));
    }
  }

  void by_variable(Span range, Span lanes, T* sums) const {
    Operand<T> x{a.data + product.a_stride * range.low, a.stride};
    Operand<T> y{b.data + product.b_stride * range.low, b.stride};
    std::int64_t x_step = product.a_stride, y_step = product.b_stride;
    if (y.stride == 0) {
      std::swap(x, y);
      std::swap(x_step, y_step);
    }
    std::int64_t v = range.low;
    if (loop.lane_bounds.empty() && has_b() && x.stride == 0 && y.stride == 1)
      for (; v + 4 <= range.high; v += 4, x.data += 4 * x_step, y.data += 4 * y_step)
        add_four_scaled(sums, x.data, x_step, y.data, y_step, lanes);
    for (; v < range.high; ++v, x.data += x_step, y.data += y_step) {
      auto [low, high] = lanes;
      for (const Bound& bound : loop.lane_bounds)
        narrow(bound.kind, bound.form.lane, slots[bound.form.slot] + bound.step * v, low, high);
      if (low >= high) continue;
      if (has_b())
        add_scaled(sums, x, y, low, high);
      else
        combine(sums, Operand<T>{sums, 1}, x, low, high, [](T s, T t) { return s + t; });
    }
  }

  /// sums[l] += x[l]·y[l]; x has stride 0 if one of them has.
  static void add_scaled(T* sums, Operand<T> x, Operand<T> y, std::int64_t low, std::int64_t high) {
    if (x.stride == 0 && y.stride == 1) {
      const T factor = *x.data;
      const T* data = y.data;
      for (std::int64_t l = low; l < high; ++l) sums[l] += factor * data[l];
    } else {
      for (std::int64_t l = low; l < high; ++l) sums[l] += x[l] * y[l];
    }
  }

  /// Four steps at once: each sum is loaded and stored once for four products.
  static void add_four_scaled(T* sums, const T* x, std::int64_t x_step, const T* y,
                              std::int64_t y_step, Span lanes) {
    const T x0 = x[0], x1 = x[x_step], x2 = x[2 * x_step], x3 = x[3 * x_step];
    const T *y0 = y, *y1 = y + y_step, *y2 = y + 2 * y_step, *y3 = y + 3 * y_step;
    for (std::int64_t l = lanes.low; l < lanes.high; ++l)
      sums[l] += (x0 * y0[l] + x1 * y1[l]) + (x2 * y2[l] + x3 * y3[l]);
  }
};

}  // namespace soapstone::ops::evaluation
