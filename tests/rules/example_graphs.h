// Small pieces of networks in which many shipped rules match.
#pragma once

#include <string_view>

namespace soapstone::rules {

inline constexpr std::string_view kExampleGraphs[] = {
    R"(graph fire_module
  x: f32[1, 2, 4, 4]
  s: f32[2, 2, 1, 1]
  e1: f32[3, 2, 1, 1]
  e3: f32[3, 2, 3, 3]
  b1: f32[3]
  b3: f32[3]
  a = conv(x, s)
  b = relu(a)
  c = conv(b, e1, b1)
  d = relu(c)
  e = conv(b, e3, b3; pads=[1, 1, 1, 1])
  f = relu(e)
  g = concat(d, f; axis=1)
  h = max_pool(g; kernel=[2, 2], strides=[2, 2])
  i = global_average_pool(h)
  return i)",
    R"(graph attention
  x: f32[3, 4]
  wq: f32[4, 4]
  wk: f32[4, 4]
  wv: f32[4, 4]
  bq: f32[4]
  bk: f32[4]
  bv: f32[4]
  g: f32[4]
  h: f32[4]
  scale: f32[] = {0.5}
  q0 = matmul(x, wq)
  q1 = add(q0, bq)
  q2 = reshape(q1; shape=[3, 2, 2])
  q = transpose(q2; perm=[1, 0, 2])
  k0 = matmul(x, wk)
  k1 = add(k0, bk)
  k2 = reshape(k1; shape=[3, 2, 2])
  k = transpose(k2; perm=[1, 2, 0])
  v0 = matmul(x, wv)
  v1 = add(v0, bv)
  v2 = reshape(v1; shape=[3, 2, 2])
  v = transpose(v2; perm=[1, 0, 2])
  s = matmul(q, k)
  t = mul(s, scale)
  p = softmax(t; axis=2)
  o = matmul(p, v)
  o1 = transpose(o; perm=[1, 0, 2])
  o2 = reshape(o1; shape=[3, 4])
  r = add(o2, x)
  y = layer_norm(r, g, h; axis=1)
  return y)",
    R"(graph cell
  x: f32[2, 3]
  h: f32[2, 4]
  w1: f32[3, 4]
  w2: f32[3, 4]
  w3: f32[3, 4]
  u1: f32[4, 4]
  u2: f32[4, 4]
  u3: f32[4, 4]
  a1 = matmul(x, w1)
  b1 = matmul(h, u1)
  c1 = add(a1, b1)
  d1 = tanh(c1)
  a2 = matmul(x, w2)
  b2 = matmul(h, u2)
  c2 = add(a2, b2)
  d2 = tanh(c2)
  a3 = matmul(x, w3)
  b3 = matmul(h, u3)
  c3 = mul(a3, b3)
  d3 = sigmoid(c3)
  e = mul(d1, d2)
  f = add(e, d3)
  return f)",
    R"(graph residual
  x: f32[1, 4, 3, 3]
  w: f32[4, 4, 3, 3]
  v: f32[4, 2, 1, 1]
  gamma: f32[4]
  beta: f32[4]
  mean: f32[4]
  var: f32[4]
  a = conv(x, w; pads=[1, 1, 1, 1])
  b = batch_norm(a, gamma, beta, mean, var)
  c = relu(b)
  d = conv(c, v; group=2)
  e = conv(x, v; group=2)
  f = add(d, e)
  g = add(f, x)
  p, q = split(g; axis=1, sizes=[1, 3])
  r = relu(p)
  s = relu(q)
  t = average_pool(s; kernel=[2, 2], pads=[1, 1, 0, 0])
  return r, t)",
};

}  // namespace soapstone::rules
