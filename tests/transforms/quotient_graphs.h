// Products with inverses of y, from which they become quotients.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct QuotientGraph {
  std::string_view name, inputs, nodes, results;
  std::size_t quotients = 1;
};
inline void PrintTo(const QuotientGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr QuotientGraph kQuotientGraphs[] = {
    {"of_rows", "  x: f32[2, 3]\n  d: f32[2, 1]\n", "  r = reciprocal(d)\n  y = mul(x, r)\n", "y"},
    {"behind_views", "  x: f32[2, 4, 3]\n  d: f32[3, 2]\n",
     "  r = reciprocal(d)\n  t = transpose(r; perm=[1, 0])\n  u = reshape(t; shape=[2, 1, 3])\n"
     "  e = expand(u; shape=[2, 4, 3])\n  y = mul(e, x)\n",
     "y"},
    {"of_two", "  x: f32[2, 3]\n  z: f32[2, 3]\n  d: f32[2]\n",
     "  r = reciprocal(d)\n  u = reshape(r; shape=[2, 1])\n  y = mul(x, u)\n  w = mul(u, z)\n",
     "y, w", 2},
};

inline std::string quotient_graph(const QuotientGraph& graph) {
  return fmt::format("graph {}\n{}{}  return {}\n", graph.name, graph.inputs, graph.nodes,
                     graph.results);
}

}  // namespace soapstone::transforms
