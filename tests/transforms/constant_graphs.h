// Sums and products with several constants.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace soapstone::transforms {

struct ConstantGraph {
  std::string_view name, inputs, nodes;
  /// Operations that are left but for those of constants alone, plan by plan.
  std::vector<int> steps;
};
inline void PrintTo(const ConstantGraph& graph, std::ostream* out) { *out << graph.name; }

inline const ConstantGraph kConstantGraphs[] = {
    {"noise_and_bias",
     "  x: f32[1, 2, 3, 3]\n",
     "  n = full(; shape=[1, 1, 3, 3], value=0.5)\n  b = full(; shape=[2, 1, 1], value=2.0)\n"
     "  t = add(x, n)\n  y = add(b, t)\n",
     {2, 1}},
    {"fits_into_the_other",
     "  x: f32[2, 3]\n",
     "  n = full(; shape=[2, 3], value=0.5)\n  b = full(; shape=[1, 1], value=2.0)\n"
     "  t = add(x, n)\n  y = add(t, b)\n",
     {1}},
    {"signs",
     "  x: f32[2, 3]\n  z: f32[2, 3]\n",
     "  b = full(; shape=[3], value=0.5)\n  c = full(; shape=[], value=2.0)\n"
     "  d = full(; shape=[2, 1], value=4.0)\n  t = sub(c, x)\n  u = sub(z, d)\n"
     "  v = sub(t, u)\n  w = sub(v, b)\n  a = add(z, w)\n  y = sub(a, c)\n",
     {4, 3}},
    {"bias_behind_a_residual",
     "  x: f32[2, 3]\n  z: f32[2, 4]\n",
     "  v = full(; shape=[3, 4], value=0.25)\n  b = full(; shape=[4], value=0.5)\n"
     "  m = matmul(x, v)\n  t = sub(m, z)\n  y = add(t, b)\n",
     {2}},
    {"factors",
     "  x: f32[2, 3]\n  z: f32[2, 1]\n",
     "  b = full(; shape=[3], value=0.5)\n  c = full(; shape=[3], value=2.0)\n"
     "  t = mul(c, x)\n  u = mul(b, z)\n  y = mul(t, u)\n",
     {2}},
};

inline std::string constant_graph(const ConstantGraph& graph) {
  return fmt::format("graph {}\n{}{}  return y\n", graph.name, graph.inputs, graph.nodes);
}

}  // namespace soapstone::transforms
