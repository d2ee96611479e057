// Graphs that do the same to tensors of unlike widths, side by side.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct BlockGraph {
  std::string_view name, inputs, nodes;  ///< Nodes compute y, or y1 and y2.
  std::string_view steps;                ///< Of its first plan, by operator.
};
inline void PrintTo(const BlockGraph& graph, std::ostream* out) { *out << graph.name; }

/// Weights are numbers everywhere: a plan asks only whether they are constant.
inline constexpr BlockGraph kBlockGraphs[] = {
    {"layers_of_one_tensor", "  x: f32[6, 4]\n",
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[4, 2], value=0.25)\n"
     "  b1 = full(; shape=[3], value=0.5)\n  b2 = full(; shape=[2], value=0.25)\n"
     "  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n  a1 = add(p1, b1)\n  a2 = add(p2, b2)\n"
     "  r1 = relu(a1)\n  r2 = relu(a2)\n  y = concat(r1, r2; axis=1)\n  return y\n",
     "matmul add relu concat"},
    {"two_layers_apart", "  x: f32[6, 4]\n",
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[4, 2], value=0.25)\n"
     "  v1 = full(; shape=[3, 5], value=0.5)\n  v2 = full(; shape=[2, 1], value=0.25)\n"
     "  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n  r1 = tanh(p1)\n  r2 = tanh(p2)\n"
     "  y1 = matmul(r1, v1)\n  y2 = matmul(r2, v2)\n  return y1, y2\n",
     "matmul tanh matmul"},
    {"two_products_of_one_layer", "  x: f32[6, 4]\n",
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[4, 2], value=0.25)\n"
     "  v1 = full(; shape=[3, 1], value=0.5)\n  v2 = full(; shape=[3, 2], value=0.5)\n"
     "  v3 = full(; shape=[2, 3], value=0.25)\n  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n"
     "  r1 = tanh(p1)\n  r2 = tanh(p2)\n  a = matmul(r1, v1)\n  b = matmul(r1, v2)\n"
     "  c = matmul(r2, v3)\n  y = concat(a, b, c; axis=1)\n  return y\n",
     "matmul tanh matmul concat"},
    {"batches_of_heads", "  x: f32[6, 4]\n",
     "  w1 = full(; shape=[2, 3, 4, 5], value=0.5)\n"
     "  w2 = full(; shape=[2, 1, 4, 5], value=0.25)\n  t = full(; shape=[2, 6, 5], value=0.5)\n"
     "  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n"
     "  y1 = einsum(p1, t; equation=\"abcd,acd->bcd\")\n"
     "  y2 = einsum(p2, t; equation=\"abcd,acd->bcd\")\n  return y1, y2\n",
     "matmul einsum"},
    {"images", "  x: f32[1, 3, 8, 8]\n",
     "  w1 = full(; shape=[4, 3, 3, 3], value=0.5)\n  w2 = full(; shape=[2, 3, 3, 3], value=0.25)\n"
     "  b1 = full(; shape=[4], value=0.5)\n  b2 = full(; shape=[2], value=0.25)\n"
     "  v1 = full(; shape=[2, 4, 1, 1], value=0.5)\n  v2 = full(; shape=[3, 2, 1, 1], value=0.25)\n"
     "  c1 = conv(x, w1, b1; pads=[1, 1, 1, 1])\n  c2 = conv(x, w2, b2; pads=[1, 1, 1, 1])\n"
     "  r1 = leaky_relu(c1; alpha=0.1)\n  r2 = leaky_relu(c2; alpha=0.1)\n"
     "  m1 = max_pool(r1; kernel=[2, 2], strides=[2, 2])\n"
     "  m2 = max_pool(r2; kernel=[2, 2], strides=[2, 2])\n"
     "  d1 = conv(m1, v1)\n  d2 = conv(m2, v2)\n  y = concat(d1, d2; axis=1)\n  return y\n",
     "conv leaky_relu max_pool conv concat"},
    {"sequences", "  x: f32[2, 3, 9]\n",
     "  w1 = full(; shape=[4, 3, 3], value=0.5)\n  w2 = full(; shape=[2, 3, 3], value=0.25)\n"
     "  v1 = full(; shape=[2, 4, 2], value=0.5)\n  v2 = full(; shape=[1, 2, 2], value=0.25)\n"
     "  c1 = conv(x, w1; strides=[1], dilations=[1], pads=[0, 0])\n"
     "  c2 = conv(x, w2; strides=[1], dilations=[1], pads=[0, 0])\n  r1 = relu(c1)\n  r2 = "
     "relu(c2)\n"
     "  d1 = conv(r1, v1; strides=[2], dilations=[1], pads=[0, 1])\n"
     "  d2 = conv(r2, v2; strides=[2], dilations=[1], pads=[0, 1])\n"
     "  y = concat(d1, d2; axis=1)\n  return y\n",
     "conv relu conv concat"},
    {"groups", "  x: f32[1, 4, 6, 6]\n  z: f32[1, 6, 6, 6]\n",
     "  w1 = full(; shape=[4, 1, 3, 3], value=0.5)\n  w2 = full(; shape=[6, 1, 3, 3], value=0.25)\n"
     "  c1 = conv(x, w1; group=4)\n  c2 = conv(z, w2; group=6)\n  r1 = relu(c1)\n"
     "  r2 = relu(c2)\n  y = concat(r1, r2; axis=1)\n  return y\n",
     "conv relu concat"},
    {"inputs_of_their_own", "  x: f32[6, 4]\n  z: f32[6, 5]\n",
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[5, 2], value=0.25)\n"
     "  p1 = matmul(x, w1)\n  p2 = matmul(z, w2)\n  r1 = exp(p1)\n  r2 = exp(p2)\n"
     "  y = concat(r1, r2; axis=1)\n  return y\n",
     "matmul exp concat"},
    {"numbers_of_their_own", "  x: f32[2, 6, 4]\n",
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[4, 2], value=0.25)\n"
     "  s1 = full(; shape=[1], value=0.5)\n  s2 = full(; shape=[1], value=2.0)\n"
     "  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n  m1 = mul(p1, s1)\n  m2 = mul(p2, s2)\n"
     "  r1 = sigmoid(m1)\n  r2 = sigmoid(m2)\n"
     "  t1 = transpose(r1; perm=[0, 2, 1])\n  t2 = transpose(r2; perm=[0, 2, 1])\n"
     "  y = concat(t1, t2; axis=1)\n  return y\n",
     "matmul mul sigmoid transpose concat"},
    {"reduced_and_reshaped", "  x: f32[2, 3, 4, 4]\n",
     "  w1 = full(; shape=[4, 3, 1, 1], value=0.5)\n  w2 = full(; shape=[2, 3, 1, 1], value=0.25)\n"
     "  c1 = conv(x, w1)\n  c2 = conv(x, w2)\n  g1 = reduce_max(c1; axes=[2, 3], keep_dims=1)\n"
     "  g2 = reduce_max(c2; axes=[2, 3], keep_dims=1)\n  f1 = reshape(g1; shape=[2, 4])\n"
     "  f2 = reshape(g2; shape=[2, 2])\n  y = concat(f1, f2; axis=1)\n  return y\n",
     "conv reduce_max reshape concat"},
    {"anchors_and_classes", "  x: f32[1, 3, 4, 5]\n",
     "  w1 = full(; shape=[4, 3, 1, 1], value=0.5)\n  w2 = full(; shape=[6, 3, 1, 1], value=0.25)\n"
     "  b1 = full(; shape=[4], value=0.5)\n  b2 = full(; shape=[6], value=0.25)\n"
     "  c1 = conv(x, w1, b1)\n  c2 = conv(x, w2, b2)\n"
     "  t1 = transpose(c1; perm=[0, 2, 3, 1])\n  t2 = transpose(c2; perm=[0, 2, 3, 1])\n"
     "  f1 = reshape(t1; shape=[1, 40, 2])\n  f2 = reshape(t2; shape=[1, 40, 3])\n"
     "  y = concat(f1, f2; axis=2)\n  return y\n",
     "conv transpose reshape concat"},
    {"anchors_behind_a_layer", "  x: f32[1, 3, 4, 5]\n",
     "  w1 = full(; shape=[4, 3, 1, 1], value=0.5)\n  w2 = full(; shape=[2, 3, 1, 1], value=0.25)\n"
     "  v1 = full(; shape=[4, 4, 1, 1], value=0.5)\n  v2 = full(; shape=[6, 2, 1, 1], value=0.25)\n"
     "  c1 = conv(x, w1)\n  c2 = conv(x, w2)\n  r1 = relu(c1)\n  r2 = relu(c2)\n"
     "  d1 = conv(r1, v1)\n  d2 = conv(r2, v2)\n"
     "  f1 = reshape(d1; shape=[1, 2, 2, 20])\n  f2 = reshape(d2; shape=[1, 2, 3, 20])\n"
     "  y1 = exp(f1)\n  y2 = exp(f2)\n  return y1, y2\n",
     "conv relu conv reshape exp"},
    {"flattened_images", "  x: f32[2, 3, 4, 4]\n",
     "  w1 = full(; shape=[4, 3, 1, 1], value=0.5)\n  w2 = full(; shape=[2, 3, 1, 1], value=0.25)\n"
     "  v1 = full(; shape=[64, 3], value=0.5)\n  v2 = full(; shape=[32, 2], value=0.25)\n"
     "  c1 = conv(x, w1)\n  c2 = conv(x, w2)\n  f1 = reshape(c1; shape=[2, 64])\n"
     "  f2 = reshape(c2; shape=[2, 32])\n  p1 = matmul(f1, v1)\n  p2 = matmul(f2, v2)\n"
     "  y = concat(p1, p2; axis=1)\n  return y\n",
     "conv reshape matmul concat"},
    {"norms_of_groups", "  x: f32[1, 3, 4, 4]\n",
     "  w1 = full(; shape=[6, 3, 1, 1], value=0.5)\n  w2 = full(; shape=[4, 3, 1, 1], value=0.25)\n"
     "  g = full(; shape=[32], value=1.0)\n  c1 = conv(x, w1)\n  c2 = conv(x, w2)\n"
     "  f1 = reshape(c1; shape=[1, 3, 32])\n  f2 = reshape(c2; shape=[1, 2, 32])\n"
     "  n1 = layer_norm(f1, g; axis=2)\n  n2 = layer_norm(f2, g; axis=2)\n"
     "  r1 = reshape(n1; shape=[1, 6, 4, 4])\n  r2 = reshape(n2; shape=[1, 4, 4, 4])\n"
     "  y1 = relu(r1)\n  y2 = relu(r2)\n  return y1, y2\n",
     "conv reshape reshape reshape layer_norm reshape relu"},
    {"beside_others", "  x: f32[6, 4]\n  z: f32[6, 3]\n",
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[4, 2], value=0.25)\n"
     "  p1 = matmul(x, w1)\n  p2 = matmul(x, w2)\n  r1 = exp(p1)\n  r2 = exp(p2)\n"
     "  u = neg(z)\n  y = concat(u, r1, r2, z; axis=1)\n  return y\n",
     "matmul exp concat"},
    {"parts_of_one_tensor", "  x: f32[6, 9]\n",
     "  a, b, c = split(x; axis=1, sizes=[4, 2, 3])\n"
     "  w1 = full(; shape=[4, 3], value=0.5)\n  w2 = full(; shape=[3, 2], value=0.25)\n"
     "  p1 = matmul(a, w1)\n  p2 = matmul(c, w2)\n  r = relu(b)\n"
     "  y = concat(p1, p2, r; axis=1)\n  return y\n",
     "matmul concat"},
    {"one_reader_of_a_part", "  x: f32[1, 9, 4, 4]\n",
     "  a, b = split(x; axis=1, sizes=[4, 5])\n"
     "  w = full(; shape=[3, 4, 1, 1], value=0.5)\n  c = full(; shape=[3], value=0.25)\n"
     "  y = conv(a, w, c)\n  return y\n",
     "conv"},
};

inline std::string block_graph(const BlockGraph& graph) {
  return fmt::format("graph {}\n{}{}", graph.name, graph.inputs, graph.nodes);
}

}  // namespace soapstone::transforms
