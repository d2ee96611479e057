// Graphs that are linear in their input, with every kind of operator that such parts are made of.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace soapstone::transforms {

struct LinearPart {
  std::string_view name, input, constants, nodes;  ///< Nodes compute y of x and constants k, b, ….
  std::string_view operators;  ///< That rules are made of; each is taken into the map.
};
inline void PrintTo(const LinearPart& part, std::ostream* out) { *out << part.name; }

/// Steps of a linear recurrence: linear in the state and in each input, and the inputs change.
inline constexpr std::string_view kRecurrence = R"(graph recurrence
  s: f32[1, 3]
  u: f32[1, 2]
  v: f32[1, 2]
  a = full(; shape=[3, 3], value=0.5)
  b = full(; shape=[2, 3], value=0.25)
  s1 = matmul(s, a)
  u1 = matmul(u, b)
  t1 = add(s1, u1)
  s2 = matmul(t1, a)
  v2 = matmul(v, b)
  t2 = add(s2, v2)
  y = tanh(t2)
  return y
)";

/// The constants are not literals, so that no test depends on their values: they are what an
/// operator makes of nothing.
inline constexpr LinearPart kLinearParts[] = {
    {"moving_average", "f32[2, 6, 3]", "",
     "  a = slice(x; axes=[1], starts=[0], sizes=[1], steps=[1])\n"
     "  b = expand(a; shape=[2, 2, 3])\n  c = concat(b, x; axis=1)\n"
     "  d = transpose(c; perm=[0, 2, 1])\n"
     "  e = average_pool(d; kernel=[3], strides=[1], dilations=[1], pads=[0, 0])\n"
     "  f = transpose(e; perm=[0, 2, 1])\n  y = sub(x, f)\n",
     "slice expand concat transpose average_pool sub"},
    {"convolutions", "f32[2, 3, 8]", "  k: f32[4, 3, 3]\n  m: f32[5, 4, 3]\n  b: f32[4]\n",
     "  c = conv(x, k, b; strides=[1], dilations=[1], pads=[1, 1])\n"
     "  y = conv(c, m; strides=[2], dilations=[1], pads=[0, 0])\n",
     "conv"},
    {"offsets_of_all_and_of_places", "f32[2, 4, 3]",
     "  k: f32[3, 5]\n  b: f32[5]\n  p: f32[4, 5]\n",
     "  c = matmul(x, k)\n  d = add(c, b)\n  y = add(d, p)\n", "matmul add"},
    {"grouped_points", "f32[1, 4, 7]", "  k: f32[6, 2, 1]\n",
     "  c = conv(x, k; strides=[1], dilations=[1], pads=[0, 0], group=2)\n"
     "  t = transpose(c; perm=[0, 2, 1])\n  y = add(t, t)\n",
     "conv transpose add"},
    {"flattened", "f32[2, 3, 4]", "  k: f32[12, 5]\n  b: f32[5]\n",
     "  r = reshape(x; shape=[2, 12])\n  p = matmul(r, k)\n  q = add(p, b)\n"
     "  y = reduce_mean(q; axes=[1], keep_dims=1)\n",
     "reshape matmul add reduce_mean"},
    {"columns", "f32[2, 4, 3]", "  k: f32[5, 4]\n  b: f32[5, 1]\n",
     "  p = matmul(k, x)\n  q = add(p, b)\n  r = reduce_sum(q; axes=[1], keep_dims=0)\n"
     "  y = neg(r)\n",
     "matmul add reduce_sum neg"},
    {"scales", "f32[4, 3]", "  k: f32[3]\n  b: f32[3]\n  m: f32[3, 3]\n",
     "  p = mul(x, k)\n  q = sub(b, p)\n  r = matmul(q, m)\n  s = div(r, k)\n  y = add(s, x)\n",
     "mul sub matmul div add"},
    {"parts", "f32[3, 6]", "  k: f32[4, 5]\n",
     "  a, b = split(x; axis=1, sizes=[2, 4])\n  p = matmul(b, k)\n  c = concat(p, a; axis=1)\n"
     "  y = cumsum(c; axis=1)\n",
     "split matmul concat cumsum"},
    {"parts_in_front", "f32[2, 3, 4]", "  k: f32[4, 5]\n  m: f32[4, 5]\n",
     "  a, b = split(x; axis=0, sizes=[1, 1])\n  p = matmul(a, k)\n  q = matmul(b, m)\n"
     "  y = sub(p, q)\n",
     "split matmul sub"},
    {"added_by_place", "f32[3, 2, 4]",
     "  k: f32[4, 5]\n  a: f32[5]\n  b: f32[3, 2, 5]\n  d: f32[3, 2, 1]\n  s: f32[6]\n",
     "  p = matmul(x, k)\n  q = add(p, a)\n  r = sub(b, q)\n  c = concat(d, r; axis=2)\n"
     "  y = mul(c, s)\n",
     "matmul add sub concat mul"},
    {"selected", "f32[3, 4]", "  i: i64[5]\n  k: f32[5, 2]\n",
     "  g = gather(x, i; axis=1)\n  y = matmul(g, k)\n", "gather matmul"},
    {"norms", "f32[2, 3]", "  s: f32[3]\n  t: f32[3]\n  m: f32[3]\n  v: f32[3]\n  k: f32[3, 4]\n",
     "  n = batch_norm(x, s, t, m, v)\n  y = matmul(n, k)\n", "batch_norm matmul"},
    {"places_of_two_axes", "f32[2, 3, 4, 2]", "  k: f32[3, 5]\n",
     "  t = transpose(x; perm=[0, 3, 2, 1])\n  p = matmul(t, k)\n"
     "  y = reduce_sum(p; axes=[2], keep_dims=0)\n",
     "transpose matmul reduce_sum"},
    {"borders", "f32[2, 5]", "  k: f32[7, 3]\n",
     "  p = pad(x; pads=[0, 1, 0, 1])\n  y = matmul(p, k)\n", "pad matmul"},
    {"contraction", "f32[2, 3, 4]", "  k: f32[4, 3, 5]\n",
     "  p = einsum(x, k; equation=\"abc,cbd->ad\")\n  y = cumsum(p; axis=1)\n", "einsum cumsum"},
    {"two_of_a_kind", "f32[2, 3, 4]", "  k: f32[4, 4]\n  m: f32[4, 4]\n  b: f32[4]\n",
     "  p = matmul(x, k)\n  q = add(p, b)\n  r = matmul(x, m)\n  s = mul(r, b)\n"
     "  t = add(s, b)\n  y = mul(q, t)\n",
     "matmul add mul"},
    {"turned_by_place", "f32[2, 3, 4]", "  k: f32[4, 4]\n  b: f32[3, 4]\n  c: f32[3, 4]\n",
     "  p = matmul(x, k)\n  q, r = split(p; axis=2, sizes=[2, 2])\n  s = neg(r)\n"
     "  t = concat(s, q; axis=2)\n  m = mul(p, b)\n  n = mul(t, c)\n  y = add(m, n)\n",
     "matmul split neg concat"},
};

/// The part in a graph, with what is no part of it on both sides.
inline std::string linear_graph(const LinearPart& part) {
  std::string constants, nodes;
  std::string_view rest = part.constants;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n'), colon = rest.find(':');
    const std::string name(rest.substr(2, colon - 2));
    const std::string_view type = rest.substr(colon + 2, end - colon - 2);
    if (type.starts_with("i64"))
      constants += fmt::format("  {}: {} = {{0, 2, 1, 3, 1}}\n", name, type);
    else
      nodes += fmt::format("  {} = full(; shape={}, value=0.75)\n", name, type.substr(3));
    rest.remove_prefix(end + 1);
  }
  return fmt::format("graph {}\n  u: {}\n{}{}  x = relu(u)\n{}  z = exp(y)\n  return z\n",
                     part.name, part.input, constants, nodes, part.nodes);
}

}  // namespace soapstone::transforms
