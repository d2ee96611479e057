// Small comprehensions that tests of the interpreters share, written here by hand so that these
// tests do not depend on any operator file.
#pragma once

#include "ops/language/comprehension.h"

namespace soapstone::ops::samples {

struct Conv {
  std::int64_t n = 1, c = 3, h = 7, w = 6, o = 4, kh = 3, kw = 3;
  std::int64_t stride = 1, dilation = 1, pad = 1, group = 1;

  std::int64_t out(std::int64_t size, std::int64_t k) const {
    return (size + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
  }
  core::Dims x() const { return {n, c, h, w}; }
  core::Dims weight() const { return {o, c / group, kh, kw}; }
  core::Dims y() const { return {n, o, out(h, kh), out(w, kw)}; }
};

/// y[n,o,i,j] = Σ x[n, g·C + c, i·s + u·d − p, j·s + v·d − p] · w[o,c,u,v], g the group of o.
inline Semantics conv(const Conv& p) {
  SemanticsBuilder b(2);
  const std::int64_t channels = p.c / p.group, outputs = p.o / p.group;
  b.output(core::to_shape(p.y()), [&](const std::vector<Polynomial>& i) {
    const auto s = b.fresh(4);
    const Polynomial g(s[0]), c(s[1]), u(s[2]), v(s[3]), one(1);
    const Polynomial row =
        i[2] * Polynomial(p.stride) + u * Polynomial(p.dilation) - Polynomial(p.pad);
    const Polynomial col =
        i[3] * Polynomial(p.stride) + v * Polynomial(p.dilation) - Polynomial(p.pad);
    return sum({{s[0], 0, p.group}, {s[1], 0, channels}, {s[2], 0, p.kh}, {s[3], 0, p.kw}},
               read(0, {i[0], g * Polynomial(channels) + c, row, col}) * read(1, {i[1], c, u, v}),
               {at_least(i[1], g * Polynomial(outputs)),
                less(i[1], g * Polynomial(outputs) + Polynomial(outputs)), at_least(row, 0),
                less(row, p.h), at_least(col, 0), less(col, p.w)});
  });
  return std::move(b).finish();
}

inline Semantics matmul(std::int64_t m, std::int64_t k, std::int64_t n) {
  SemanticsBuilder b(2);
  b.output(core::to_shape({m, n}), [&](const std::vector<Polynomial>& i) {
    return b.sum_over(k, [&](const Polynomial& v) {
      return read(0, {i[0], v}) * read(1, {v, i[1]});
    });
  });
  return std::move(b).finish();
}

/// Over the last of two dimensions, in three stages.
inline Semantics softmax(std::int64_t m, std::int64_t n) {
  SemanticsBuilder b(1);
  const auto top = b.stage(core::to_shape({m}), [&](const std::vector<Polynomial>& i) {
    return b.max_over(n, [&](const Polynomial& v) { return read(0, {i[0], v}); });
  });
  const auto power = [&](const Polynomial& row, const Polynomial& v) {
    return apply(Function::kExp, {read(0, {row, v}) - read(top, {row})});
  };
  const auto total = b.stage(core::to_shape({m}), [&](const std::vector<Polynomial>& i) {
    return b.sum_over(n, [&](const Polynomial& v) { return power(i[0], v); });
  });
  b.output(core::to_shape({m, n}), [&](const std::vector<Polynomial>& i) {
    return power(i[0], i[1]) * inverse(read(total, {i[0]}));
  });
  return std::move(b).finish();
}

/// y[i, j] = Σᵥ [index[i] = v] · data[v, j].
inline Semantics gather(std::int64_t rows, std::int64_t count, std::int64_t width) {
  SemanticsBuilder b(2);
  b.output(core::to_shape({count, width}), [&](const std::vector<Polynomial>& i) {
    return b.sum_over(rows, [&](const Polynomial& v) {
      return apply(Function::kEqual, {read(1, {i[0]}), index_value(v)}) * read(0, {v, i[1]});
    });
  });
  return std::move(b).finish();
}

}  // namespace soapstone::ops::samples
