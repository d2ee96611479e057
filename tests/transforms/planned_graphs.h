// Graphs of which a finder makes plans, whatever it is that it finds: with the operators of the
// first plan's steps.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "transforms/layout_changes/steps_of_products.h"
#include "transforms/pack/passing_parts.h"
#include "transforms/pack/rows_of_cuts.h"
#include "transforms/receptive/mirrors.h"
#include "transforms/restrict/restored_cuts.h"

namespace soapstone::transforms {

struct PlannedGraph {
  std::string_view name;
  std::vector<RewriteSequence> (*find)(const core::Graph&);
  std::string_view nodes;  ///< With inputs; they compute y.
  std::string_view steps;  ///< Of the first plan, by operator; of none: no plan.
};
inline void PrintTo(const PlannedGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr PlannedGraph kPlannedGraphs[] = {
    // --- Mirrors ---
    {"mirrored_back", find_mirrors,
     "  x: f32[2, 3, 6, 7]\n  w = full(; shape=[4, 3, 3, 2], value=0.5)\n"
     "  b = full(; shape=[4], value=0.25)\n"
     "  m = slice(x; axes=[3], sizes=[7], starts=[6], steps=[-1])\n"
     "  c = conv(m, w, b; pads=[1, 0, 1, 1])\n  r = relu(c)\n"
     "  y = slice(r; axes=[3], sizes=[7], starts=[6], steps=[-1])\n",
     "conv relu slice"},
    {"a_quarter_turn", find_mirrors,
     "  x: f32[1, 2, 5, 5]\n  w = full(; shape=[4, 2, 3, 3], value=0.5)\n"
     "  t = transpose(x; perm=[0, 1, 3, 2])\n"
     "  m = slice(t; axes=[2], sizes=[5], starts=[4], steps=[-1])\n"
     "  c = conv(m, w; pads=[1, 1, 1, 1])\n  u = transpose(c; perm=[0, 1, 3, 2])\n"
     "  y = slice(u; axes=[3], sizes=[5], starts=[4], steps=[-1])\n",
     "conv transpose slice"},
    {"along_a_sequence", find_mirrors,
     "  x: f32[2, 4, 9]\n  w = full(; shape=[4, 1, 3], value=0.5)\n"
     "  m = slice(x; axes=[2], sizes=[9], starts=[8], steps=[-1])\n"
     "  c = conv(m, w; strides=[2], dilations=[2], pads=[4, 0], group=4)\n"
     "  y = slice(c; axes=[2], sizes=[5], starts=[4], steps=[-1])\n",
     "conv slice"},
    {"pooled_and_summed", find_mirrors,
     "  x: f32[1, 2, 6, 6]\n"
     "  m = slice(x; axes=[2, 3], sizes=[6, 6], starts=[5, 5], steps=[-1, -1])\n"
     "  p = max_pool(m; kernel=[2, 2], strides=[2, 2])\n  s = sigmoid(p)\n  t = mul(p, s)\n"
     "  y = reduce_mean(t; axes=[2, 3], keep_dims=0)\n",
     "max_pool sigmoid mul reduce_mean"},
    {"pooled_whole", find_mirrors,
     "  x: f32[1, 2, 6, 5]\n  w = full(; shape=[4, 2, 2, 2], value=0.5)\n"
     "  t = transpose(x; perm=[0, 1, 3, 2])\n"
     "  m = slice(t; axes=[2], sizes=[5], starts=[4], steps=[-1])\n"
     "  c = conv(m, w; pads=[1, 0, 0, 1])\n  y = max_pool(c; kernel=[5, 6])\n",
     "conv max_pool"},
    {"averaged_over_all_places", find_mirrors,
     "  x: f32[1, 2, 6, 5]\n"
     "  m = slice(x; axes=[2], sizes=[6], starts=[5], steps=[-1])\n  e = exp(m)\n"
     "  y = global_average_pool(e)\n",
     "exp global_average_pool"},
    {"not_where_a_stride_leaves_places_out", find_mirrors,
     "  x: f32[1, 2, 6, 6]\n  w = full(; shape=[4, 2, 3, 3], value=0.5)\n"
     "  m = slice(x; axes=[3], sizes=[6], starts=[5], steps=[-1])\n"
     "  c = conv(m, w; strides=[2, 2])\n"
     "  y = slice(c; axes=[3], sizes=[2], starts=[1], steps=[-1])\n",
     ""},
    {"where_a_stride_leaves_padding_out", find_mirrors,
     "  x: f32[1, 2, 6, 7]\n  w = full(; shape=[4, 2, 3, 3], value=0.5)\n"
     "  m = slice(x; axes=[2, 3], sizes=[6, 7], starts=[5, 6], steps=[-1, -1])\n"
     "  c = conv(m, w; strides=[2, 2], pads=[1, 1, 1, 1])\n"
     "  y = slice(c; axes=[2, 3], sizes=[3, 4], starts=[2, 3], steps=[-1, -1])\n",
     "conv slice"},
    {"enlarged", find_mirrors,
     "  x: f32[1, 4, 3, 3]\n  w = full(; shape=[4, 2, 4, 3], value=0.5)\n"
     "  b = full(; shape=[4], value=0.25)\n"
     "  m = slice(x; axes=[3], sizes=[3], starts=[2], steps=[-1])\n"
     "  c = conv_transpose(m, w, b; strides=[2, 2], pads=[1, 1, 1, 0], dilations=[1, 1], "
     "group=2, output_padding=[0, 0])\n"
     "  y = slice(c; axes=[3], sizes=[6], starts=[5], steps=[-1])\n",
     "conv_transpose slice"},
    {"not_where_something_is_put_behind", find_mirrors,
     "  x: f32[1, 4, 3, 3]\n  w = full(; shape=[4, 2, 4, 3], value=0.5)\n"
     "  m = slice(x; axes=[3], sizes=[3], starts=[2], steps=[-1])\n"
     "  c = conv_transpose(m, w; strides=[2, 2], pads=[1, 1, 1, 0], dilations=[1, 1], "
     "output_padding=[0, 1])\n"
     "  y = slice(c; axes=[3], sizes=[7], starts=[6], steps=[-1])\n",
     ""},
    {"not_of_channels", find_mirrors,
     "  x: f32[1, 4, 6]\n  w = full(; shape=[4, 4, 3], value=0.5)\n"
     "  m = slice(x; axes=[1], sizes=[4], starts=[3], steps=[-1])\n"
     "  c = conv(m, w; strides=[1], dilations=[1], pads=[0, 0])\n"
     "  y = slice(c; axes=[1], sizes=[4], starts=[3], steps=[-1])\n",
     ""},
    {"not_if_it_never_ends", find_mirrors,
     "  x: f32[1, 4, 6, 6]\n"
     "  m = slice(x; axes=[3], sizes=[6], starts=[5], steps=[-1])\n  y = relu(m)\n",
     ""},
    // --- Parts that pass ---
    {"a_coupling", find_passing_parts,
     "  x: f32[4, 6]\n  h: f32[4, 5]\n  w = full(; shape=[5, 3], value=0.5)\n"
     "  v = full(; shape=[5, 3], value=0.25)\n  b = full(; shape=[3], value=0.5)\n"
     "  p, q = split(x; axis=1, sizes=[3, 3])\n  m = matmul(h, w)\n  n = add(m, b)\n"
     "  t = tanh(n)\n  e = exp(t)\n  k = matmul(h, v)\n  s = mul(q, e)\n  r = add(s, k)\n"
     "  y = concat(p, r; axis=1)\n",
     "concat"},
    {"between_others", find_passing_parts,
     "  x: f32[2, 9, 4, 4]\n  h: f32[2, 5, 4, 4]\n  w = full(; shape=[2, 5, 1, 1], value=0.5)\n"
     "  p, q, r = split(x; axis=1, sizes=[3, 2, 4])\n  k = conv(h, w)\n  s = sub(q, k)\n"
     "  y = concat(p, s, r; axis=1)\n",
     "concat"},
    {"some_features_turned", find_passing_parts,
     "  x: f32[2, 3, 6]\n  c = full(; shape=[3, 4], value=0.5)\n"
     "  d = full(; shape=[3, 4], value=0.75)\n  p, q = split(x; axis=2, sizes=[4, 2])\n"
     "  a, b = split(p; axis=2, sizes=[2, 2])\n  n = neg(b)\n  t = concat(n, a; axis=2)\n"
     "  u = mul(p, c)\n  v = mul(t, d)\n  s = add(u, v)\n  y = concat(s, q; axis=2)\n",
     "concat"},
    {"not_a_function_of_no_number", find_passing_parts,
     "  x: f32[4, 6]\n  h: f32[4, 3]\n  p, q = split(x; axis=1, sizes=[3, 3])\n"
     "  r = mul(q, h)\n  y = concat(p, r; axis=1)\n",
     ""},
    {"not_in_another_order", find_passing_parts,
     "  x: f32[4, 6]\n  w = full(; shape=[3], value=0.5)\n"
     "  p, q = split(x; axis=1, sizes=[3, 3])\n  r = mul(q, w)\n  y = concat(r, p; axis=1)\n",
     ""},
    // --- Rows of pieces ---
    {"products_of_features", find_rows_of_cuts,
     "  x: f32[5, 3]\n  a, b, c = split(x; axis=1, sizes=[1, 1, 1])\n"
     "  d = slice(x; axes=[1], sizes=[2], starts=[1], steps=[1])\n  p = mul(a, x)\n"
     "  q = mul(b, d)\n  r = mul(c, c)\n  y = concat(x, p, q, r; axis=1)\n",
     "concat"},
    {"differences_of_two_tensors", find_rows_of_cuts,
     "  x: f32[2, 5, 4]\n  z: f32[2, 5, 3]\n"
     "  a = slice(x; axes=[2], sizes=[2], starts=[0], steps=[2])\n"
     "  b = slice(x; axes=[2], sizes=[2], starts=[2], steps=[1])\n"
     "  c = slice(z; axes=[2], sizes=[2], starts=[1], steps=[1])\n"
     "  d = slice(z; axes=[2], sizes=[1], starts=[0], steps=[1])\n  p = sub(a, c)\n"
     "  q = sub(b, d)\n  s = relu(p)\n  t = relu(q)\n  y = concat(s, t; axis=2)\n",
     "concat"},
    {"not_of_unlike_functions", find_rows_of_cuts,
     "  x: f32[5, 4]\n  a, b = split(x; axis=1, sizes=[2, 2])\n  p = mul(a, b)\n  q = add(a, b)\n"
     "  y = concat(p, q; axis=1)\n",
     ""},
    // --- Functions behind a reshape ---
    {"a_bias_of_heads", find_steps_with_repeated_constants,
     "  x: f32[2, 5]\n  r: f32[6, 4]\n  w = full(; shape=[5, 12], value=0.5)\n"
     "  b = full(; shape=[4], value=0.25)\n  m = matmul(x, w)\n  h = reshape(m; shape=[6, 4])\n"
     "  s = add(h, b)\n  t = sigmoid(s)\n  u = mul(s, t)\n  y = add(u, r)\n",
     "add sigmoid mul add"},
    {"rows_of_numbers", find_steps_of_products,
     "  x: f32[2, 3, 5]\n  w = full(; shape=[5, 4], value=0.5)\n"
     "  c = full(; shape=[3, 1], value=0.25)\n  m = matmul(x, w)\n"
     "  h = reshape(m; shape=[2, 3, 2, 2])\n  d = reshape(c; shape=[3, 1, 1])\n"
     "  y = mul(h, d)\n",
     "mul"},
    {"not_a_norm", find_steps_of_products,
     "  x: f32[2, 5]\n  w = full(; shape=[5, 12], value=0.5)\n  m = matmul(x, w)\n"
     "  h = reshape(m; shape=[6, 4])\n  y = softmax(h; axis=1)\n",
     ""},
    // --- Pieces among zeros ---
    {"a_correlation", find_restored_cuts,
     "  x: f32[2, 3, 4, 6]\n  z: f32[2, 3, 4, 6]\n"
     "  a = slice(x; axes=[3], sizes=[4], starts=[2], steps=[1])\n"
     "  b = slice(z; axes=[3], sizes=[4], starts=[0], steps=[1])\n  m = mul(a, b)\n"
     "  r = reduce_mean(m; axes=[1], keep_dims=0)\n"
     "  y = pad(r; pads=[0, 0, 2, 0, 0, 0])\n",
     "pad"},
    {"not_around_numbers", find_restored_cuts,
     "  x: f32[2, 3, 6]\n  z: f32[2, 3, 6]\n"
     "  a = slice(x; axes=[2], sizes=[4], starts=[2], steps=[1])\n"
     "  b = slice(z; axes=[2], sizes=[4], starts=[0], steps=[1])\n  m = mul(a, b)\n"
     "  y = pad(m; pads=[0, 0, 2, 0, 0, 0], value=1.0)\n",
     ""},
    {"not_of_other_pieces", find_restored_cuts,
     "  x: f32[2, 3, 6]\n  z: f32[2, 3, 6]\n"
     "  a = slice(x; axes=[2], sizes=[4], starts=[1], steps=[1])\n"
     "  b = slice(z; axes=[2], sizes=[4], starts=[0], steps=[1])\n  m = mul(a, b)\n"
     "  y = pad(m; pads=[0, 0, 2, 0, 0, 0])\n",
     ""},
};

inline std::string planned_graph(const PlannedGraph& graph) {
  return fmt::format("graph {}\n{}  return y\n", graph.name, graph.nodes);
}

}  // namespace soapstone::transforms
