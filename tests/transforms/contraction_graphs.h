// Products of several tensors in an order that costs more than another one.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct ProductGraph {
  std::string_view name, inputs, nodes;  ///< Nodes compute y.
  int products;                          ///< Of a plan, counted in the target.
};
inline void PrintTo(const ProductGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr ProductGraph kProductGraphs[] = {
    {"attention_without_softmax", "  q: f32[2, 90, 3]\n  k: f32[2, 90, 3]\n  v: f32[2, 90, 4]\n",
     "  t = transpose(k; perm=[0, 2, 1])\n  s = matmul(q, t)\n  y = matmul(s, v)\n", 2},
    {"scaled_on_the_way", "  q: f32[1, 3, 90]\n  k: f32[1, 3, 90]\n  v: f32[1, 4, 90]\n",
     "  c = full(; shape=[], value=0.5)\n  t = transpose(q; perm=[0, 2, 1])\n"
     "  s = matmul(t, k)\n  u = mul(s, c)\n  w = transpose(v; perm=[0, 2, 1])\n"
     "  o = matmul(u, w)\n  y = transpose(o; perm=[0, 2, 1])\n",
     3},
    {"vector_behind_matrices", "  a: f32[60, 70]\n  b: f32[70, 80]\n  c: f32[80, 1]\n",
     "  s = matmul(a, b)\n  y = matmul(s, c)\n", 2},
    {"bilinear", "  x: f32[5, 6]\n  w: f32[6, 7, 4]\n  z: f32[5, 7]\n  u: f32[4, 2]\n",
     "  s = einsum(x, w, z; equation=\"ab,bcd,ac->ad\")\n  y = matmul(s, u)\n", 3},
    {"outer_products_as_rows", "  a: f32[8, 40, 16]\n  b: f32[8, 40, 16]\n  w: f32[256, 16]\n",
     "  o = einsum(a, b; equation=\"abc,ade->bdce\")\n  r = reshape(o; shape=[40, 40, 256])\n"
     "  y = matmul(r, w)\n",
     2},
    {"shared_heads", "  q: f32[1, 4, 90, 2]\n  k: f32[1, 1, 90, 2]\n  v: f32[90, 3]\n",
     "  t = transpose(k; perm=[0, 1, 3, 2])\n  s = matmul(q, t)\n  y = matmul(s, v)\n", 2},
};

/// Scaled rows and columns, and sums of products of elements.
inline constexpr ProductGraph kScaledGraphs[] = {
    {"normalized_adjacency", "  a: f32[60, 60]\n  d: f32[60, 1]\n  x: f32[60, 4]\n",
     "  t = transpose(d; perm=[1, 0])\n  s = mul(d, a)\n  u = mul(s, t)\n  y = matmul(u, x)\n", 3},
    {"squares_of_a_scaled_kernel", "  k: f32[1, 5, 6, 3, 3]\n  d: f32[1, 1, 6, 1, 1]\n",
     "  m = mul(k, d)\n  q = mul(m, m)\n  y = reduce_sum(q; axes=[2, 3, 4])\n  z = relu(m)\n", 3},
    {"mean_of_squares", "  x: f32[40, 6, 30]\n",
     "  s = mul(x, x)\n  y = reduce_mean(s; axes=[1], keep_dims=0)\n", 3},
    {"mean_of_products_over_two", "  x: f32[4, 6, 7]\n  z: f32[4, 6, 7]\n",
     "  s = mul(x, z)\n  y = reduce_mean(s; axes=[0, 2])\n", 5},
    {"sum_of_weighted_rows", "  x: f32[2, 7, 5]\n  w: f32[7]\n",
     "  v = reshape(w; shape=[7, 1])\n  p = mul(x, v)\n  y = reduce_sum(p; axes=[1], "
     "keep_dims=0)\n",
     1},
    {"weights_that_sum_to_one", "  s: f32[12, 40, 6]\n  d: f32[12, 1, 6]\n  v: f32[40, 6]\n",
     "  w = div(s, d)\n  y = einsum(w, v; equation=\"abc,bc->ac\")\n", 3},
};

/// In the best order, with transposes that strides make up for.
inline constexpr ProductGraph kStridedGraphs[] = {
    {"values_of_heads", "  a: f32[1, 4, 9, 7]\n  v: f32[1, 7, 4, 3]\n",
     "  t = transpose(v; perm=[0, 2, 1, 3])\n  s = einsum(a, t; equation=\"abcd,abde->acbe\")\n"
     "  y = reshape(s; shape=[1, 9, 12])\n",
     1},
    {"windows", "  q: f32[5, 9, 2, 4, 3]\n  k: f32[5, 9, 2, 4, 3]\n",
     "  a = transpose(q; perm=[0, 2, 3, 1, 4])\n  b = transpose(k; perm=[0, 2, 3, 4, 1])\n"
     "  y = matmul(a, b)\n",
     1},
    {"positions_first", "  a: f32[5, 4, 3]\n  w: f32[5, 3, 6]\n",
     "  s = matmul(a, w)\n  y = transpose(s; perm=[1, 0, 2])\n", 1},
    {"weights_behind", "  x: f32[7, 4, 3]\n  w: f32[6, 3]\n",
     "  t = transpose(x; perm=[1, 0, 2])\n  u = transpose(w; perm=[1, 0])\n"
     "  s = matmul(t, u)\n  y = transpose(s; perm=[1, 2, 0])\n",
     1},
};

inline constexpr ProductGraph kSharedGraphs[] = {
    {"keys_of_grouped_heads", "  q: f32[1, 4, 5, 3]\n  k: f32[1, 2, 7, 3]\n",
     "  r = reshape(k; shape=[1, 2, 1, 7, 3])\n  e = expand(r; shape=[1, 2, 2, 7, 3])\n"
     "  h = reshape(e; shape=[1, 4, 7, 3])\n"
     "  y = einsum(q, h; equation=\"abcd,abed->abce\")\n",
     1},
    {"turned_keys", "  q: f32[2, 6, 5, 3]\n  k: f32[2, 3, 7, 3]\n",
     "  r = reshape(k; shape=[2, 3, 1, 7, 3])\n  e = expand(r; shape=[2, 3, 2, 7, 3])\n"
     "  h = reshape(e; shape=[2, 6, 7, 3])\n  t = transpose(h; perm=[0, 1, 3, 2])\n"
     "  y = matmul(q, t)\n",
     1},
    {"values_of_interleaved_heads", "  p: f32[2, 6, 5, 7]\n  v: f32[2, 1, 3, 7, 4]\n",
     "  e = expand(v; shape=[2, 2, 3, 7, 4])\n  h = reshape(e; shape=[2, 6, 7, 4])\n"
     "  y = matmul(p, h)\n",
     1},
    {"heads_as_one_batch", "  p: f32[12, 5, 7]\n  v: f32[2, 3, 1, 7, 4]\n",
     "  e = expand(v; shape=[2, 3, 2, 7, 4])\n  h = reshape(e; shape=[12, 7, 4])\n"
     "  y = matmul(p, h)\n",
     1},
    {"what_is_repeated_on_the_left", "  a: f32[2, 1, 5, 7]\n  b: f32[6, 7, 4]\n",
     "  e = expand(a; shape=[2, 3, 5, 7])\n  h = reshape(e; shape=[6, 5, 7])\n"
     "  y = matmul(h, b)\n",
     1},
};

inline std::string product_graph(const ProductGraph& graph) {
  return fmt::format("graph {}\n{}{}  return y\n", graph.name, graph.inputs, graph.nodes);
}

}  // namespace soapstone::transforms
