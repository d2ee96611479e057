// Factors of what weights have made, with operators in between.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct FactorGraph {
  std::string_view name, inputs,
      nodes;                       ///< Nodes compute y of inputs, weights w and v, a factor c.
  std::string_view weights, bias;  ///< Shapes.
  std::string_view factor = "  c = full(; shape=[], value=3.0)\n";
};
inline void PrintTo(const FactorGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr FactorGraph kFactorGraphs[] = {
    {"scores_of_heads", "  x: f32[1, 3, 4]\n  k: f32[1, 2, 2, 5]\n",
     "  m = matmul(x, w)\n  a = add(m, v)\n  r = reshape(a; shape=[1, 3, 2, 2])\n"
     "  q = transpose(r; perm=[0, 2, 1, 3])\n  s = matmul(q, k)\n  y = mul(s, c)\n",
     "[4, 4]", "[4]"},
    {"right_side_alone", "  x: f32[3, 4]\n  z: f32[5, 4]\n",
     "  m = matmul(z, w)\n  a = sub(v, m)\n  t = transpose(a; perm=[1, 0])\n  s = matmul(x, t)\n"
     "  y = mul(c, s)\n",
     "[4, 4]", "[4]"},
    {"images", "  x: f32[1, 3, 4, 4]\n",
     "  m = conv(x, w, v)\n  a = reduce_mean(m; axes=[2, 3], keep_dims=1)\n"
     "  e = expand(a; shape=[1, 2, 4, 4])\n  y = mul(e, c)\n",
     "[2, 3, 1, 1]", "[2]"},
    {"masked", "  x: f32[3, 4]\n  k: bool[3, 4]\n",
     "  m = matmul(x, w)\n  s = where(k, m, v)\n  y = mul(s, c)\n", "[4, 4]", "[4]"},
    {"norm", "  x: f32[3, 4]\n", "  m = layer_norm(x, w, v; axis=1)\n  y = mul(m, c)\n", "[4]",
     "[4]"},
    {"both_parts", "  x: f32[3, 4]\n  z: f32[3, 4]\n",
     "  m = mul(x, w)\n  n = div(v, z)\n  a = concat(m, n; axis=0)\n"
     "  s = slice(a; axes=[1], starts=[1], sizes=[2], steps=[1])\n  y = mul(s, c)\n",
     "[4]", "[4]"},
    {"einsum", "  x: f32[3, 4]\n",
     "  m = einsum(x, w; equation=\"ab,cb->ca\")\n  n = einsum(m, v; equation=\"ca,c->a\")\n"
     "  y = mul(n, c)\n",
     "[5, 4]", "[5]"},
    {"one_part", "  x: f32[2, 3, 4]\n",
     "  m = matmul(x, w)\n  a = add(m, v)\n  p, q, r = split(a; axis=2, sizes=[2, 3, 2])\n"
     "  s = transpose(q; perm=[2, 0, 1])\n  t = mul(s, c)\n  u = mul(p, r)\n"
     "  z = transpose(u; perm=[2, 0, 1])\n  y = concat(t, z; axis=0)\n",
     "[4, 7]", "[7]"},
    {"one_item", "  x: f32[3, 4]\n",
     "  m = matmul(x, w)\n  a = add(m, v)\n  h = reshape(a; shape=[2, 3, 2, 3])\n"
     "  p, q = split(h; axis=0, sizes=[1, 1])\n  s = mul(p, c)\n  y = max(s, q)\n",
     "[2, 4, 6]", "[6]"},
    {"queries_of_a_batch", "  x: f32[1, 3, 8]\n",
     "  m = matmul(x, w)\n  a = add(m, v)\n  h = reshape(a; shape=[2, 1, 3, 4, 2])\n"
     "  p, q = split(h; axis=0, sizes=[1, 1])\n  r = reshape(q; shape=[1, 3, 4, 2])\n"
     "  s = reshape(r; shape=[3, 4, 2])\n  t = mul(c, s)\n  u = reshape(p; shape=[1, 3, 4, 2])\n"
     "  k = reshape(u; shape=[3, 4, 2])\n  y = einsum(t, k; equation=\"abc,dbc->bda\")\n",
     "[2, 1, 8, 8]", "[2, 1, 1, 8]"},
    {"one_part_of_an_image", "  x: f32[1, 3, 4, 4]\n",
     "  m = conv(x, w, v)\n  e = transpose(m; perm=[0, 2, 3, 1])\n"
     "  p, q = split(e; axis=3, sizes=[1, 2])\n  s = mul(q, c)\n  y = div(s, p)\n",
     "[3, 3, 1, 1]", "[3]"},
    {"one_part_of_a_norm", "  x: f32[3, 4]\n",
     "  m = layer_norm(x, w, v; axis=1)\n  p, q = split(m; axis=1, sizes=[2, 2])\n"
     "  s = mul(p, c)\n  y = sub(q, s)\n",
     "[4]", "[4]"},
    {"each_channel", "  x: f32[3, 5]\n",
     "  m = matmul(x, w)\n  a = add(m, v)\n  t = transpose(a; perm=[1, 0])\n  y = mul(t, c)\n",
     "[5, 4]", "[4]", "  c = full(; shape=[4, 1], value=3.0)\n"},
    {"each_head_and_channel", "  x: f32[2, 3, 5]\n",
     "  m = matmul(x, w)\n  t = transpose(m; perm=[1, 2, 0])\n  a = sub(t, v)\n  y = mul(a, c)\n",
     "[2, 5, 4]", "[4, 2]", "  c = full(; shape=[4, 2], value=3.0)\n"},
    {"each_channel_of_an_image", "  x: f32[1, 3, 4, 4]\n",
     "  m = conv(x, w, v)\n  t = transpose(m; perm=[0, 2, 3, 1])\n  y = mul(t, c)\n",
     "[2, 3, 1, 1]", "[2]", "  c = full(; shape=[2], value=3.0)\n"},
    {"pooled", "  x: f32[1, 3, 4, 4]\n",
     "  m = conv(x, w, v)\n  p = average_pool(m; kernel=[2, 2], strides=[2, 2], pads=[0, 0, 0, "
     "0])\n"
     "  y = mul(p, c)\n",
     "[2, 3, 1, 1]", "[2]", "  c = full(; shape=[2, 1, 1], value=3.0)\n"},
    {"behind_functions_of_positive_numbers", "  x: f32[3, 4]\n",
     "  m = matmul(x, w)\n  a = add(m, v)\n  r = leaky_relu(a; alpha=0.1)\n  b = abs(r)\n"
     "  n = min(b, v)\n  y = mul(n, c)\n",
     "[4, 4]", "[4]"},
    {"divided_behind_a_function", "  x: f32[3, 4]\n",
     "  m = matmul(x, w)\n  r = relu(m)\n  a = sub(r, v)\n  y = div(a, c)\n", "[4, 4]", "[4]",
     "  c = full(; shape=[1], value=3.0)\n"},
    {"undone_division", "  x: f32[2, 5, 3]\n  c: f32[2, 1, 3]\n",
     "  q = div(x, c)\n  m = einsum(q, w; equation=\"abc,db->adc\")\n  a = add(m, v)\n"
     "  y = mul(a, c)\n",
     "[4, 5]", "[4, 1]", ""},
    {"undone_behind_transposes", "  x: f32[2, 5, 3]\n  c: f32[2, 3]\n",
     "  d = reshape(c; shape=[2, 1, 3])\n  q = div(x, d)\n  t = transpose(q; perm=[0, 2, 1])\n"
     "  m = matmul(t, w)\n  a = sub(v, m)\n  e = reshape(c; shape=[2, 3, 1])\n  y = mul(e, a)\n",
     "[5, 4]", "[4]", ""},
    {"undone_by_a_transpose", "  x: f32[5, 2, 3]\n  c: f32[5, 2]\n",
     "  d = reshape(c; shape=[5, 2, 1])\n  q = div(x, d)\n  t = transpose(q; perm=[1, 0, 2])\n"
     "  m = matmul(t, w)\n  a = add(m, v)\n  f = transpose(c; perm=[1, 0])\n"
     "  e = reshape(f; shape=[2, 5, 1])\n  y = mul(a, e)\n",
     "[3, 4]", "[4]", ""},
    {"undone_product", "  x: f32[2, 3, 4, 4]\n  c: f32[2, 1, 1, 1]\n",
     "  q = mul(c, x)\n  m = conv(q, w)\n  e = reduce_mean(m; axes=[2, 3], keep_dims=1)\n"
     "  a = add(e, v)\n  y = div(a, c)\n",
     "[2, 3, 1, 1]", "[2, 1, 1]", ""},
    {"undone_in_both_terms", "  x: f32[3, 4]\n  z: f32[3, 4]\n  c: f32[3, 1]\n",
     "  p = div(x, c)\n  q = div(z, c)\n  m = matmul(p, w)\n  n = mul(q, v)\n  a = sub(m, n)\n"
     "  y = mul(a, c)\n",
     "[4, 4]", "[4]", ""},
};

inline std::string factor_graph(const FactorGraph& graph) {
  return fmt::format(
      "graph {}\n{}  w = full(; shape={}, value=0.5)\n  v = full(; shape={}, value=0.25)\n"
      "{}{}  return y\n",
      graph.name, graph.inputs, graph.weights, graph.bias, graph.factor, graph.nodes);
}

}  // namespace soapstone::transforms
