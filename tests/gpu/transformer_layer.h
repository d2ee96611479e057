// A layer of a transformer as rewriting leaves it: one product makes queries, keys and values, and
// heads are read and written in place by the products around them. Queries
// come scaled.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace soapstone::gpu::test {

struct LayerSizes {
  std::int64_t positions, heads, head, feed;
};

/// The text of the layer as a graph.
inline std::string transformer_layer(const LayerSizes& sizes) {
  using fmt::arg;
  return fmt::format(R"(graph layer
  x: f32[1, {s}, {w}]
  w: f32[{w}, {w3}]
  b: f32[{w3}]
  m: f32[1, 1, 1, {s}]
  wo: f32[{w}, {w}]
  bo: f32[{w}]
  s1: f32[{w}]
  b1: f32[{w}]
  w1: f32[{w}, {f}]
  f1: f32[{f}]
  w2: f32[{f}, {w}]
  f2: f32[{w}]
  s2: f32[{w}]
  b2: f32[{w}]
  all = matmul(x, w)
  biased = add(all, b)
  q, k, v = split(biased; axis=2, sizes=[{w}, {w}, {w}])
  q4 = reshape(q; shape=[1, {s}, {h}, {d}])
  qh = transpose(q4; perm=[0, 2, 1, 3])
  k4 = reshape(k; shape=[1, {s}, {h}, {d}])
  kh = transpose(k4; perm=[0, 2, 3, 1])
  v4 = reshape(v; shape=[1, {s}, {h}, {d}])
  vh = transpose(v4; perm=[0, 2, 1, 3])
  scores = matmul(qh, kh)
  masked = add(scores, m)
  p = softmax(masked; axis=3)
  context = matmul(p, vh)
  back = transpose(context; perm=[0, 2, 1, 3])
  flat = reshape(back; shape=[1, {s}, {w}])
  o = matmul(flat, wo)
  ob = add(o, bo)
  r1 = add(ob, x)
  n1 = layer_norm(r1, s1, b1; axis=2)
  h = matmul(n1, w1)
  hb = add(h, f1)
  g = gelu(hb)
  y = matmul(g, w2)
  yb = add(y, f2)
  r2 = add(yb, n1)
  n2 = layer_norm(r2, s2, b2; axis=2)
  return n2
)",
                     arg("s", sizes.positions), arg("h", sizes.heads), arg("d", sizes.head),
                     arg("w", sizes.heads * sizes.head), arg("w3", 3 * sizes.heads * sizes.head),
                     arg("f", sizes.feed));
}

}  // namespace soapstone::gpu::test
