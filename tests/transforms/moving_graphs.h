// Graphs in which tensors are moved, cut and joined in the ways that exporters write.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct MovingGraph {
  std::string_view name, inputs, nodes;  ///< Nodes compute y.
  std::string_view operators;            ///< Whose rules are made, in order.
};
inline void PrintTo(const MovingGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr MovingGraph kMovingGraphs[] = {
    {"heads_along_the_batch", "  q: f32[2, 3, 4]\n  k: f32[2, 5, 4]\n  v: f32[2, 5, 4]\n",
     "  q1, q2 = split(q; axis=2, sizes=[2, 2])\n  qs = concat(q1, q2; axis=0)\n"
     "  k1, k2 = split(k; axis=2, sizes=[2, 2])\n  ks = concat(k1, k2; axis=0)\n"
     "  v1, v2 = split(v; axis=2, sizes=[2, 2])\n  vs = concat(v1, v2; axis=0)\n"
     "  kt = transpose(ks; perm=[0, 2, 1])\n  s = matmul(qs, kt)\n  p = softmax(s; axis=2)\n"
     "  o = matmul(p, vs)\n  o1, o2 = split(o; axis=0, sizes=[2, 2])\n"
     "  y = concat(o1, o2; axis=2)\n",
     "concat concat transpose matmul concat matmul concat concat"},
    {"shuffled_channels", "  x: f32[2, 6, 3]\n",
     "  a = reshape(x; shape=[2, 2, 3, 3])\n  b = transpose(a; perm=[0, 2, 1, 3])\n"
     "  c = reshape(b; shape=[2, 6, 3])\n  d = relu(c)\n  e = reshape(d; shape=[2, 3, 2, 3])\n"
     "  f = transpose(e; perm=[0, 2, 1, 3])\n  y = reshape(f; shape=[2, 6, 3])\n",
     "relu reshape transpose"},
    {"space_to_depth", "  x: f32[1, 2, 4, 6]\n",
     "  a = slice(x; axes=[2, 3], starts=[0, 0], sizes=[2, 3], steps=[2, 2])\n"
     "  b = slice(x; axes=[2, 3], starts=[1, 0], sizes=[2, 3], steps=[2, 2])\n"
     "  c = slice(x; axes=[2, 3], starts=[0, 1], sizes=[2, 3], steps=[2, 2])\n"
     "  d = slice(x; axes=[2, 3], starts=[1, 1], sizes=[2, 3], steps=[2, 2])\n"
     "  y = concat(a, b, c, d; axis=1)\n",
     "concat"},
    {"parts_of_two_tensors_and_another", "  x: f32[2, 3]\n  z: f32[2, 3]\n  u: f32[3]\n",
     "  a, b = split(x; axis=0, sizes=[1, 1])\n  c, d = split(z; axis=0, sizes=[1, 1])\n"
     "  e = reshape(b; shape=[3])\n  f = reshape(e; shape=[1, 3])\n  v = reshape(u; shape=[1, 3])\n"
     "  y = concat(a, f, v, c, d; axis=0)\n",
     "reshape concat"},
    {"parts_of_turned_heads", "  x: f32[2, 3, 12]\n",
     "  a = reshape(x; shape=[2, 3, 6, 2])\n  b = transpose(a; perm=[0, 2, 1, 3])\n"
     "  q, k, v = split(b; axis=1, sizes=[2, 2, 2])\n  t = transpose(k; perm=[0, 1, 3, 2])\n"
     "  s = matmul(q, t)\n  o = matmul(s, v)\n  u = transpose(o; perm=[0, 2, 1, 3])\n"
     "  y = reshape(u; shape=[2, 3, 4])\n",
     "split transpose matmul matmul transpose"},
    {"queries_by_group", "  x: f32[1, 3, 8]\n",
     "  a = reshape(x; shape=[1, 3, 4, 2])\n  b = transpose(a; perm=[0, 2, 1, 3])\n"
     "  q, k = split(b; axis=1, sizes=[2, 2])\n  r = reshape(q; shape=[1, 1, 6, 2])\n"
     "  u, v = split(k; axis=1, sizes=[1, 1])\n  t = transpose(u; perm=[0, 1, 3, 2])\n"
     "  s = matmul(r, t)\n  o = matmul(s, v)\n  y = reshape(o; shape=[1, 2, 3, 2])\n",
     "transpose split reshape split transpose matmul"},
    {"norms_of_turned", "  x: f32[2, 3, 4]\n  g: f32[4]\n",
     "  a = transpose(x; perm=[1, 0, 2])\n  b = layer_norm(a, g; axis=2)\n"
     "  c = softmax(b; axis=0)\n  d = reduce_mean(c; axes=[1], keep_dims=1)\n"
     "  y = transpose(d; perm=[1, 2, 0])\n",
     "layer_norm softmax reduce_mean transpose"},
    {"weighted_sum", "  x: f32[2, 3, 4]\n  w: f32[2, 3, 1]\n",
     "  a = mul(x, w)\n  y = reduce_sum(a; axes=[1], keep_dims=0)\n", "reduce_sum"},
    {"products_of_rows", "  x: f32[2, 3, 4]\n  z: f32[3, 2, 4]\n",
     "  t = transpose(z; perm=[1, 0, 2])\n  a = mul(x, t)\n"
     "  y = reduce_sum(a; axes=[2], keep_dims=1)\n",
     "reduce_sum"},
    {"masked_scores", "  q: f32[2, 3, 2, 2]\n  k: f32[2, 3, 2, 2]\n  m: f32[1, 1, 3, 3]\n",
     "  a = transpose(q; perm=[0, 2, 1, 3])\n  b = transpose(k; perm=[0, 2, 3, 1])\n"
     "  s = matmul(a, b)\n  t = transpose(s; perm=[0, 2, 1, 3])\n  y = exp(t)\n",
     "matmul transpose"},
    {"points_with_channels_last", "  x: f32[2, 3, 4, 6]\n",
     "  k = full(; shape=[5, 6, 1, 1], value=0.5)\n  b = full(; shape=[5], value=0.25)\n"
     "  t = transpose(x; perm=[0, 3, 1, 2])\n  c = conv(t, k, b)\n  r = relu(c)\n"
     "  m = reduce_max(r; axes=[3], keep_dims=0)\n  y = transpose(m; perm=[0, 2, 1])\n",
     "conv relu reduce_max transpose"},
    {"space_to_batch_and_back", "  x: f32[2, 3, 8, 12]\n",
     "  k = full(; shape=[5, 3, 3, 2], value=0.5)\n  b = full(; shape=[5], value=0.25)\n"
     "  r = reshape(x; shape=[2, 3, 4, 2, 4, 3])\n  t = transpose(r; perm=[3, 5, 0, 1, 2, 4])\n"
     "  s = reshape(t; shape=[12, 3, 4, 4])\n"
     "  c = conv(s, k, b; strides=[1, 1], pads=[1, 0, 0, 0], dilations=[1, 1])\n"
     "  u = reshape(c; shape=[2, 3, 2, 5, 3, 3])\n  v = transpose(u; perm=[2, 3, 4, 0, 5, 1])\n"
     "  y = reshape(v; shape=[2, 5, 6, 9])\n",
     "conv reshape transpose reshape"},
    {"phases_of_a_sequence_with_a_stride_elsewhere", "  x: f32[1, 12, 3]\n",
     "  k = full(; shape=[4, 3, 2, 1], value=0.5)\n  r = reshape(x; shape=[1, 6, 2, 3])\n"
     "  t = transpose(r; perm=[2, 3, 1, 0])\n"
     "  c = conv(t, k; strides=[1, 1], pads=[1, 0, 0, 0], dilations=[2, 1])\n  y = relu(c)\n",
     "transpose conv relu"},
    {"points_of_a_sequence", "  x: f32[1, 3, 6]\n",
     "  k = full(; shape=[5, 6, 1], value=0.5)\n  t = transpose(x; perm=[0, 2, 1])\n"
     "  c = conv(t, k; strides=[1], pads=[0, 0], dilations=[1])\n"
     "  y = transpose(c; perm=[0, 2, 1])\n",
     "conv transpose"},
    {"einsum_of_turned", "  x: f32[3, 2, 4]\n  w: f32[4, 2, 5]\n",
     "  a = transpose(x; perm=[1, 0, 2])\n  b = einsum(a, w; equation=\"abc,cad->abd\")\n"
     "  y = transpose(b; perm=[1, 0, 2])\n",
     "einsum transpose"},
};

inline std::string moving_graph(const MovingGraph& graph) {
  return fmt::format("graph {}\n{}{}  return y\n", graph.name, graph.inputs, graph.nodes);
}

}  // namespace soapstone::transforms
