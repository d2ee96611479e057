// Zeros around tensors that are moved before convolutions read them.
#pragma once

#include <ostream>
#include <string_view>

namespace soapstone::transforms {

struct PaddedGraph {
  std::string_view name, text;
  std::size_t steps;  ///< Of the plan.
};
inline void PrintTo(const PaddedGraph& graph, std::ostream* out) { *out << graph.name; }

inline constexpr PaddedGraph kPaddedGraphs[] = {
    {"sequence_as_an_image", R"(graph g
  x: f32[2, 7, 3]
  k = full(; shape=[4, 3, 1, 2], value=0.5)
  p = pad(x; pads=[0, 3, 0, 0, 0, 0])
  t = transpose(p; perm=[0, 2, 1])
  r = reshape(t; shape=[2, 3, 1, 10])
  y = conv(r, k; strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 2])
  return y
)",
     2},
    {"channels_last_for_two", R"(graph g
  x: f32[1, 5, 6, 3]
  k = full(; shape=[4, 3, 3, 3], value=0.5)
  b = full(; shape=[4], value=0.25)
  p = pad(x; pads=[0, 1, 2, 0, 0, 1, 0, 0])
  t = transpose(p; perm=[0, 3, 1, 2])
  u = conv(t, k, b; strides=[2, 1], pads=[0, 0, 0, 1], dilations=[1, 1])
  v = conv(t, k; strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1])
  return u, v
)",
     3},
};

}  // namespace soapstone::transforms
