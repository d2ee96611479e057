// Graphs in which tensors repeat smaller ones.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct RepetitionGraph {
  std::string_view name, inputs, nodes;  ///< Nodes compute y.
  std::string_view operators;            ///< Whose rules are made, in order.
};
inline void PrintTo(const RepetitionGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr RepetitionGraph kRepetitionGraphs[] = {
    {"layers_of_repeated_rows", "  x: f32[2, 1, 4]\n  z: f32[2, 3, 5]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  g = full(; shape=[5], value=0.25)\n"
     "  a = expand(x; shape=[2, 3, 4])\n  b = matmul(a, w)\n  c = layer_norm(b, g; axis=2)\n"
     "  d = tanh(c)\n  y = add(d, z)\n",
     "matmul layer_norm tanh add"},
    {"pairs_of_objects", "  p: f32[2, 3, 1, 4]\n  q: f32[2, 1, 3, 4]\n",
     "  w = full(; shape=[8, 5], value=0.5)\n  b = full(; shape=[5], value=0.25)\n"
     "  u = expand(p; shape=[2, 3, 3, 4])\n  v = expand(q; shape=[2, 3, 3, 4])\n"
     "  c = concat(u, v; axis=3)\n  m = matmul(c, w)\n  n = add(m, b)\n  y = relu(n)\n",
     "parts_of_matmul"},
    {"messages_on_edges", "  x: f32[3, 4]\n  e: f32[7, 2]\n  s: i64[7]\n  t: i64[7]\n",
     "  w = full(; shape=[10, 5], value=0.5)\n  a = gather(x, s; axis=0)\n"
     "  b = gather(x, t; axis=0)\n  c = concat(a, b, e; axis=1)\n  y = matmul(c, w)\n",
     "parts_of_matmul"},
    {"chosen_rows", "  x: f32[3, 4]\n  s: i64[7]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  a = gather(x, s; axis=0)\n  b = matmul(a, w)\n"
     "  c = relu(b)\n  d = reduce_sum(c; axes=[1], keep_dims=0)\n  y = exp(d)\n",
     "matmul relu reduce_sum exp"},
    {"differences_from_a_query", "  q: f32[2, 1, 4]\n  k: f32[2, 3, 4]\n",
     "  w = full(; shape=[12, 5], value=0.5)\n  r = expand(q; shape=[2, 3, 4])\n"
     "  d = sub(r, k)\n  c = concat(r, k, d; axis=2)\n  y = matmul(c, w)\n",
     "sub parts_of_matmul"},
    {"joined_rows_of_a_batch", "  p: f32[3, 1, 4]\n  q: f32[3, 2, 4]\n",
     "  w = full(; shape=[8, 5], value=0.5)\n  b = full(; shape=[5], value=0.25)\n"
     "  u = expand(p; shape=[3, 2, 4])\n  c = concat(u, q; axis=2)\n"
     "  r = reshape(c; shape=[6, 8])\n  m = matmul(r, w)\n  n = add(b, m)\n  y = relu(n)\n",
     "parts_of_matmul"},
    {"latent_over_an_image", "  x: f32[2, 3, 4, 5]\n  z: f32[2, 2, 1, 1]\n",
     "  w = full(; shape=[4, 5, 1, 1], value=0.5)\n  b = full(; shape=[4], value=0.25)\n"
     "  e = expand(z; shape=[2, 2, 4, 5])\n  c = concat(x, e; axis=1)\n  y = conv(c, w, b)\n",
     "parts_of_conv"},
    {"sums_of_equal_rows", "  x: f32[2, 1, 4]\n",
     "  a = expand(x; shape=[2, 3, 4])\n  s = reduce_sum(a; axes=[1], keep_dims=0)\n"
     "  m = reduce_mean(a; axes=[1], keep_dims=0)\n  h = reduce_max(a; axes=[1], keep_dims=0)\n"
     "  t = add(s, m)\n  y = add(t, h)\n",
     "reduce_sum reduce_mean reduce_max"},
    {"one_context_for_all_steps", "  p: f32[1, 3]\n  q: f32[1, 3]\n  z: f32[1, 4]\n",
     "  w = full(; shape=[7, 5], value=0.5)\n  c = concat(p, z; axis=1)\n"
     "  d = concat(q, z; axis=1)\n  m = matmul(c, w)\n  n = matmul(d, w)\n  y = mul(m, n)\n",
     "parts_of_matmul parts_of_matmul shared_matmul"},
    {"copies_of_a_gate", "  x: f32[2, 3, 4]\n  z: f32[2, 3, 1]\n",
     "  c = concat(z, z, z, z; axis=2)\n  t = tanh(c)\n  y = mul(t, x)\n", "concat tanh mul"},
    {"vector_for_all_rows", "  x: f32[4]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  a = expand(x; shape=[3, 4])\n"
     "  b = matmul(a, w)\n  y = transpose(b; perm=[1, 0])\n",
     "expand matmul transpose"},
};

inline constexpr RepetitionGraph kFlattenedGraphs[] = {
    {"layers_of_flat_pairs", "  p: f32[2, 3, 1, 4]\n  q: f32[2, 1, 5, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  b = full(; shape=[6], value=0.25)\n"
     "  u = expand(p; shape=[2, 3, 5, 4])\n  v = expand(q; shape=[2, 3, 5, 4])\n"
     "  s = sub(u, v)\n  f = reshape(s; shape=[30, 4])\n  m = matmul(f, w)\n  n = add(b, m)\n"
     "  r = relu(n)\n  t = reshape(r; shape=[2, 15, 6])\n"
     "  y = reduce_sum(t; axes=[1], keep_dims=1)\n",
     "matmul add relu reshape reduce_sum"},
    {"rows_with_a_dimension_of_one", "  p: f32[2, 1, 1, 4]\n",
     "  w = full(; shape=[4, 6], value=0.5)\n  u = expand(p; shape=[2, 3, 1, 4])\n"
     "  f = reshape(u; shape=[6, 4])\n  m = matmul(f, w)\n  r = relu(m)\n"
     "  t = reshape(r; shape=[2, 3, 6])\n  y = reduce_sum(t; axes=[1], keep_dims=1)\n",
     "matmul relu reshape reduce_sum"},
    {"edges_of_nodes", "  x: f32[3, 4]\n  e: i64[6]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  g = gather(x, e; axis=0)\n"
     "  r = reshape(g; shape=[3, 2, 4])\n  m = matmul(r, w)\n  t = tanh(m)\n"
     "  y = reduce_max(t; axes=[1], keep_dims=0)\n",
     "matmul tanh"},
    {"two_shapes_of_one_tensor", "  x: f32[2, 6, 4]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  v = full(; shape=[4, 5], value=0.25)\n"
     "  a = reshape(x; shape=[12, 4])\n  b = reshape(x; shape=[2, 3, 2, 4])\n"
     "  m = matmul(a, w)\n  n = matmul(b, v)\n  k = reshape(m; shape=[2, 3, 2, 5])\n"
     "  y = mul(k, n)\n",
     "matmul reshape matmul"},
    {"dimensions_that_do_not_nest", "  p: f32[4, 1, 4]\n",
     "  w = full(; shape=[4, 5], value=0.5)\n  u = expand(p; shape=[4, 9, 4])\n"
     "  r = reshape(u; shape=[6, 6, 4])\n  y = matmul(r, w)\n",
     "matmul"},
    {"part_of_a_flat_dimension", "  p: f32[2, 1, 4]\n",
     "  u = expand(p; shape=[2, 6, 4])\n  r = reshape(u; shape=[2, 3, 2, 4])\n"
     "  t = tanh(r)\n  y = reduce_sum(t; axes=[1], keep_dims=0)\n",
     "tanh"},
};

inline std::string repetition_graph(const RepetitionGraph& graph) {
  return fmt::format("graph {}\n{}{}  return y\n", graph.name, graph.inputs, graph.nodes);
}

}  // namespace soapstone::transforms
