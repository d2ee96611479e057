// Graphs of whose tensors only pieces, sums or chosen rows are read.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct DemandGraph {
  std::string_view name, inputs, nodes;  ///< Nodes compute y.
  std::string_view operators;            ///< Whose rules are made, in order.
};
inline void PrintTo(const DemandGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr DemandGraph kDemandGraphs[] = {
    {"first_row_of_layers", "  x: f32[2, 5, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  g = full(; shape=[6], value=0.25)\n"
     "  a = matmul(x, w)\n  b = layer_norm(a, g; axis=2)\n  c = relu(b)\n"
     "  y = slice(c; axes=[1], starts=[0], sizes=[1], steps=[1])\n",
     "relu layer_norm matmul"},
    {"queries_of_attention", "  x: f32[1, 5, 4]\n",
     "  w = full(; shape=[4, 4], value=0.5)\n  q = matmul(x, w)\n"
     "  k = transpose(x; perm=[0, 2, 1])\n  s = matmul(q, k)\n  p = softmax(s; axis=2)\n"
     "  o = matmul(p, x)\n  z = add(o, x)\n"
     "  y = slice(z; axes=[1], starts=[4], sizes=[1], steps=[1])\n",
     "add matmul softmax matmul matmul"},
    {"window_of_dilated_convolutions", "  x: f32[1, 3, 20]\n",
     "  w = full(; shape=[3, 3, 2], value=0.5)\n"
     "  a = conv(x, w; strides=[1], pads=[1, 0], dilations=[1])\n  b = relu(a)\n"
     "  c = conv(b, w; strides=[1], pads=[2, 0], dilations=[2])\n  d = add(c, b)\n"
     "  y = slice(d; axes=[2], starts=[19], sizes=[1], steps=[1])\n",
     "add conv relu conv"},
    {"end_of_a_padded_convolution", "  x: f32[1, 3, 20]\n",
     "  w = full(; shape=[3, 3, 3], value=0.5)\n"
     "  a = conv(x, w; strides=[1], pads=[4, 4], dilations=[2])\n"
     "  y = slice(a; axes=[2], starts=[0], sizes=[20], steps=[1])\n",
     "conv"},
    {"one_part_of_a_join", "  x: f32[2, 3]\n  z: f32[2, 3]\n",
     "  a = exp(x)\n  b = tanh(z)\n  c = concat(a, b; axis=0)\n"
     "  y = slice(c; axes=[0], starts=[1], sizes=[1], steps=[1])\n",
     "concat exp"},
    {"two_readers_of_unlike_pieces", "  x: f32[6, 4]\n",
     "  a = exp(x)\n  b = slice(a; axes=[0], starts=[1], sizes=[2], steps=[1])\n"
     "  c = slice(a; axes=[0], starts=[2], sizes=[2], steps=[1])\n  y = mul(b, c)\n",
     "exp"},
    {"parts_that_nobody_reads", "  x: f32[2, 6]\n",
     "  a = exp(x)\n  b, c, d = split(a; axis=1, sizes=[2, 2, 2])\n  y = mul(b, c)\n", "split exp"},
    {"columns_of_weights", "  x: f32[3, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  a = matmul(x, w)\n"
     "  y = slice(a; axes=[1], starts=[2], sizes=[2], steps=[1])\n",
     "matmul"},
    {"piece_of_a_piece", "  x: f32[8, 3]\n",
     "  a = tanh(x)\n  b = slice(a; axes=[0], starts=[2], sizes=[5], steps=[1])\n"
     "  y = slice(b; axes=[0], starts=[1], sizes=[2], steps=[1])\n",
     "slice tanh"},
    {"a_head_of_turned_rows", "  x: f32[1, 5, 8]\n",
     "  a = reshape(x; shape=[1, 5, 2, 4])\n  b = transpose(a; perm=[0, 2, 1, 3])\n"
     "  c = softmax(b; axis=3)\n"
     "  y = slice(c; axes=[2], starts=[3], sizes=[1], steps=[1])\n",
     "softmax transpose reshape"},
};

inline constexpr DemandGraph kReadingGraphs[] = {
    {"mean_of_layers", "  x: f32[2, 5, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  b = full(; shape=[6], value=0.25)\n"
     "  v = full(; shape=[6, 4], value=0.125)\n  r = relu(x)\n  a = matmul(r, w)\n"
     "  c = add(a, b)\n  d = matmul(c, v)\n  e = add(d, x)\n"
     "  y = reduce_mean(e; axes=[1], keep_dims=0)\n",
     "reduced_add reduced_matmul reduced_add reduced_matmul"},
    {"sum_of_biased_rows", "  x: f32[2, 5, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  b = full(; shape=[6], value=0.25)\n"
     "  a = matmul(x, w)\n  c = sub(b, a)\n  y = reduce_sum(c; axes=[0, 1], keep_dims=1)\n",
     "reduced_sub reduced_matmul"},
    {"mean_of_turned_columns", "  x: f32[5, 4]\n  z: f32[3, 4]\n",
     "  t = transpose(z; perm=[1, 0])\n  a = matmul(x, t)\n"
     "  y = reduce_mean(a; axes=[1], keep_dims=0)\n",
     "reduced_matmul reduced_transpose"},
    {"two_means_of_one_product", "  x: f32[5, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  a = matmul(x, w)\n"
     "  b = reduce_mean(a; axes=[0], keep_dims=1)\n  c = reduce_mean(a; axes=[0], keep_dims=0)\n"
     "  y = add(b, c)\n",
     "reduced_matmul"},
    {"rows_of_some_nodes", "  x: f32[6, 4]\n  e: f32[6, 6]\n  i: i64[2]\n",
     "  w = full(; shape=[4, 4], value=0.5)\n  h = matmul(x, w)\n  a = matmul(e, h)\n"
     "  r = relu(a)\n  s = add(r, x)\n  y = gather(s, i; axis=0)\n",
     "chosen_add chosen_relu chosen_matmul"},
    {"two_ways_to_chosen_rows", "  x: f32[2, 6, 4]\n  i: i64[3]\n",
     "  w = full(; shape=[4, 4], value=0.5)\n  h = matmul(x, w)\n  a = tanh(h)\n"
     "  s = mul(a, h)\n  y = gather(s, i; axis=1)\n",
     "chosen_mul chosen_tanh chosen_matmul"},
    {"every_second_row", "  x: f32[2, 6, 4]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  h = matmul(x, w)\n  a = relu(h)\n"
     "  y = slice(a; axes=[1], starts=[1], sizes=[3], steps=[2])\n",
     "chosen_relu chosen_matmul"},
};

inline constexpr DemandGraph kSeparationGraphs[] = {
    {"columns_of_a_layer", "  x: f32[3, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  b = full(; shape=[6], value=0.25)\n"
     "  a = matmul(x, w)\n  c = add(a, b)\n  p, q, r = split(c; axis=1, sizes=[2, 3, 1])\n"
     "  u = tanh(p)\n  v = exp(q)\n  y = concat(u, v, r; axis=1)\n",
     "add matmul"},
    {"members_of_a_batch", "  x: f32[3, 4]\n",
     "  w = full(; shape=[2, 4, 1], value=0.5)\n  a = matmul(x, w)\n"
     "  p, q = split(a; axis=0, sizes=[1, 1])\n  r = reshape(p; shape=[3, 1])\n"
     "  u = tanh(r)\n  v = reshape(q; shape=[3, 1])\n  y = concat(u, v; axis=1)\n",
     "matmul"},
    {"channels_of_an_image", "  x: f32[1, 3, 5, 5]\n",
     "  w = full(; shape=[4, 3, 3, 3], value=0.5)\n  b = full(; shape=[4], value=0.25)\n"
     "  a = conv(x, w, b; pads=[1, 1, 1, 1])\n  r = leaky_relu(a; alpha=0.1)\n"
     "  p, q = split(r; axis=1, sizes=[3, 1])\n  u = sigmoid(q)\n  y = mul(p, u)\n",
     "leaky_relu conv"},
    {"heads_of_an_equation", "  x: f32[2, 3, 4]\n",
     "  w = full(; shape=[2, 4, 5], value=0.5)\n  a = einsum(x, w; equation=\"abc,dce->dabe\")\n"
     "  p, q = split(a; axis=0, sizes=[1, 1])\n  u = relu(p)\n  y = add(u, q)\n",
     "einsum"},
};

inline std::string demand_graph(const DemandGraph& graph) {
  return fmt::format("graph {}\n{}{}  return y\n", graph.name, graph.inputs, graph.nodes);
}

}  // namespace soapstone::transforms
