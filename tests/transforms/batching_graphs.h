// Graphs that do the same to several tensors, with every operator that can be lifted to a batch.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

/// `count` branches of the same lines, with `#` for the number of each, between a head and an end.
inline std::string branches(int count, std::string_view head, std::string_view each,
                            std::string_view end) {
  const auto numbered = [](std::string_view text, int number) {
    std::string result;
    for (const char c : text) result += c == '#' ? std::to_string(number) : std::string(1, c);
    return result;
  };
  std::string inputs, nodes;
  for (int k = 1; k <= count; ++k) {
    inputs += numbered(head, k);
    nodes += numbered(each, k);
  }
  return fmt::format("graph branches\n{}{}{}", inputs, nodes, end);
}

struct Lines {
  std::string_view name, inputs, nodes;  ///< Of one branch, which computes y#.
};
inline void PrintTo(const Lines& lines, std::ostream* out) { *out << lines.name; }

/// Shapes have sizes of 1 and equal sizes, where a rule for all sizes says more than the graph.
inline constexpr Lines kLiftedLines[] = {
    {"elementwise", "  x#: f32[2, 3]\n  z#: f32[3]\n",
     "  a# = add(x#, z#)\n  b# = relu(a#)\n  c# = mul(b#, x#)\n  y# = sub(c#, z#)\n"},
    {"numbers", "  x#: f32[2, 3]\n",
     "  k# = full(; shape=[], value=0.5)\n  a# = mul(x#, k#)\n  b# = leaky_relu(a#; alpha=0.25)\n"
     "  y# = clip(b#; min=-1.0, max=2.0)\n"},
    {"choice", "  x#: f32[2, 3]\n  z#: f32[2, 1]\n",
     "  a# = less(x#, z#)\n  b# = exp(x#)\n  y# = where(a#, b#, z#)\n"},
    {"product", "  x#: f32[2, 3]\n  w#: f32[3, 3]\n",
     "  a# = matmul(x#, w#)\n  y# = softmax(a#; axis=1)\n"},
    {"products_of_batches", "  x#: f32[2, 4, 3]\n  w#: f32[3, 5]\n",
     "  a# = matmul(x#, w#)\n  y# = tanh(a#)\n"},
    {"reductions", "  x#: f32[2, 3, 4]\n",
     "  a# = reduce_sum(x#; axes=[1], keep_dims=1)\n  b# = mul(x#, a#)\n"
     "  c# = reduce_max(b#; axes=[0, 2], keep_dims=0)\n"
     "  d# = reduce_mean(x#; axes=[1], keep_dims=0)\n  e# = reduce_min(d#; axes=[0, 1])\n"
     "  y# = add(c#, e#)\n"},
    {"order", "  x#: f32[2, 3, 4]\n",
     "  a# = transpose(x#; perm=[2, 0, 1])\n  b# = reshape(a#; shape=[8, 3])\n  y# = neg(b#)\n"},
    {"pieces", "  x#: f32[4, 6]\n",
     "  a# = slice(x#; axes=[1], starts=[1], sizes=[2], steps=[2])\n  b# = relu(a#)\n"
     "  c# = concat(a#, b#; axis=1)\n  y# = expand(c#; shape=[3, 4, 4])\n"},
    {"norms_of_their_own", "  x#: f32[2, 3]\n  g#: f32[3]\n  h#: f32[3]\n",
     "  a# = layer_norm(x#, g#, h#; axis=1)\n  b# = relu(a#)\n  c# = rms_norm(b#, g#; axis=1)\n"
     "  y# = layer_norm(c#, g#; axis=1)\n"},
    {"norms", "  x#: f32[2, 4]\n",
     "  a# = layer_norm(x#, g, h; axis=1)\n  b# = rms_norm(a#, g; axis=1)\n"
     "  y# = log_softmax(b#; axis=0)\n"},
    {"selected", "  x#: f32[4, 3]\n",
     "  a# = gather(x#, i; axis=0)\n  b# = cumsum(a#; axis=1)\n  y# = sigmoid(b#)\n"},
    {"looked_up", "  j#: i64[2]\n", "  a# = gather(t, j#; axis=0)\n  y# = relu(a#)\n"},
    {"own_tables", "  x#: f32[4, 4]\n  j#: i64[4]\n",
     "  a# = gather(x#, j#; axis=0)\n  y# = relu(a#)\n"},
    {"converted", "  j#: i64[2, 3]\n", "  a# = cast(j#; to=\"f32\")\n  y# = sqrt(a#)\n"},
    {"powers", "  x#: f32[1, 3]\n  z#: f32[1, 3]\n",
     "  a# = max(x#, z#)\n  b# = div(a#, s)\n  c# = gelu(b#)\n  y# = min(c#, x#)\n"},
    {"channels", "  x#: f32[2, 2, 3, 3]\n", "  a# = batch_norm(x#, m, m, m, m)\n  y# = relu(a#)\n"},
    {"images", "  x#: f32[2, 1, 3, 3]\n",
     "  a# = global_average_pool(x#)\n  b# = max_pool(x#; kernel=[2, 2])\n  y# = add(a#, b#)\n"},
    {"attended", "  x#: f32[2, 2, 2, 2]\n  z#: f32[2, 2, 2, 2]\n",
     "  a# = attention(x#, z#, z#)\n  y# = relu(a#)\n"},
    {"contracted", "  x#: f32[2, 3]\n  z#: f32[3, 4]\n",
     "  a# = einsum(x#, z#; equation=\"ab,bc->ca\")\n  y# = tanh(a#)\n"},
    {"framed", "  x#: f32[2, 3]\n", "  a# = pad(x#; pads=[0, 1, 0, 1])\n  y# = exp(a#)\n"},
};

/// What branches share.
inline constexpr std::string_view kSharedInputs =
    "  g: f32[4]\n  h: f32[4]\n  i: i64[2]\n  t: f32[3, 3]\n  s: f32[2, 1]\n  m: f32[2]\n";

/// The branches side by side, joined along their last dimension or not at all.
inline std::string lifted_graph(const Lines& lines, int count, bool joined) {
  const bool scalar = lines.name == "reductions";
  std::string names, end;
  for (int k = 1; k <= count; ++k) names += fmt::format("{}y{}", k > 1 ? ", " : "", k);
  if (joined && !scalar)
    end = fmt::format("  r = concat({}; axis=1)\n  return r\n", names);
  else
    end = fmt::format("  return {}\n", names);
  std::string text = branches(count, lines.inputs, lines.nodes, end);
  return text.insert(text.find('\n') + 1, kSharedInputs);
}

}  // namespace soapstone::transforms
