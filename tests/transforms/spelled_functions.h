// Functions and norms as exporters and people write them out, each with the rule that names it.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace soapstone::transforms {

struct SpelledFunction {
  std::string_view name, nodes;  ///< Compute y of x; constants are named by what they are.
  std::string_view rule;         ///< Without its prefix.
  std::string_view shape = "2, 3, 8";
};
inline void PrintTo(const SpelledFunction& spelled, std::ostream* out) { *out << spelled.name; }

inline constexpr SpelledFunction kSpelledFunctions[] = {
    {"sigmoid_with_factor",
     "  t = mul(x, minus_eight)\n  e = exp(t)\n  s = add(e, one)\n  y = reciprocal(s)\n",
     "sigmoid"},
    {"sigmoid_from_tanh",
     "  h = mul(x, half)\n  t = tanh(h)\n  g = mul(t, half)\n  y = add(half, g)\n", "sigmoid"},
    {"tanh_from_sigmoid",
     "  d = add(x, x)\n  t = sigmoid(d)\n  e = mul(t, two)\n  y = sub(e, one)\n", "tanh"},
    {"silu_from_tanh",
     "  h = mul(x, half)\n  t = tanh(h)\n  s = add(t, one)\n  g = mul(h, s)\n  y = mul(g, one)\n",
     "silu"},
    {"quick_gelu",
     "  t = mul(x, factor)\n  n = neg(t)\n  e = exp(n)\n  s = add(one, e)\n  y = div(x, s)\n",
     "silu"},
    {"gelu_distributed",
     "  t = mul(x, root)\n  e = erf(t)\n  h = mul(x, half)\n  he = mul(h, e)\n  y = add(he, h)\n",
     "gelu"},
    {"tanh_gelu",
     "  xx = mul(x, x)\n  b = mul(cubic, xx)\n  f = add(one, b)\n  g = mul(f, x)\n"
     "  t = mul(slope, g)\n  e = tanh(t)\n  h = mul(half, x)\n  he = mul(e, h)\n  y = add(h, he)\n",
     "tanh_gelu"},
    {"hard_swish",
     "  t = add(x, three)\n  r = relu(t)\n  m = min(r, six)\n  d = div(m, six)\n  y = mul(d, x)\n",
     "hard_swish"},
    {"clip_of_a_quantized_relu",
     "  r = relu(x)\n  q = div(r, eighth)\n  t = min(q, six)\n  y = mul(t, eighth)\n", "clip"},
    {"hard_sigmoid",
     "  t = mul(x, eighth)\n  s = add(t, half)\n  u = max(s, zero)\n  y = min(one, u)\n",
     "hard_sigmoid"},
    {"leaky_relu",
     "  t = relu(x)\n  n = neg(x)\n  u = relu(n)\n  v = mul(u, eighth)\n  y = sub(t, v)\n",
     "leaky_relu"},
    {"elu",
     "  n = neg(x)\n  p = relu(x)\n  r = relu(n)\n  b = neg(r)\n  e = exp(b)\n  d = sub(e, one)\n"
     "  h = mul(half, d)\n  y = add(h, p)\n",
     "elu"},
    {"softplus", "  e = exp(x)\n  s = add(e, one)\n  y = log(s)\n", "softplus"},
    {"mish", "  e = exp(x)\n  s = add(e, one)\n  l = log(s)\n  t = tanh(l)\n  y = mul(t, x)\n",
     "mish"},
    {"softmax_with_reshapes",
     "  m = reduce_max(x; axes=[2], keep_dims=0)\n  m1 = reshape(m; shape=[2, 3, 1])\n"
     "  d = sub(x, m1)\n  e = exp(d)\n  s = reduce_sum(e; axes=[2], keep_dims=0)\n"
     "  i = reciprocal(s)\n  i1 = reshape(i; shape=[2, 3, 1])\n  y = mul(i1, e)\n",
     "softmax"},
    {"softmax_of_columns", "  e = exp(x)\n  s = reduce_sum(e; axes=[1])\n  y = div(e, s)\n",
     "softmax"},
    {"log_softmax",
     "  m = reduce_max(x; axes=[2])\n  d = sub(x, m)\n  e = exp(d)\n"
     "  s = reduce_sum(e; axes=[2])\n  l = log(s)\n  lm = add(l, m)\n  y = sub(x, lm)\n",
     "log_softmax"},
    {"norm_with_gain_in_the_root",
     "  mean = reduce_mean(x; axes=[2])\n  d = sub(x, mean)\n  dd = mul(d, d)\n"
     "  var = reduce_mean(dd; axes=[2])\n  v = add(var, small)\n  r = sqrt(v)\n"
     "  i = reciprocal(r)\n  k = mul(i, gain)\n  p = mul(d, k)\n  y = add(p, offset)\n",
     "layer_norm"},
    {"norm_with_reshapes",
     "  sx = reduce_sum(x; axes=[2], keep_dims=0)\n  mean = mul(sx, eighth)\n  xx = mul(x, x)\n"
     "  sxx = reduce_sum(xx; axes=[2], keep_dims=0)\n  square = mul(sxx, eighth)\n"
     "  mm = mul(mean, mean)\n  var = sub(square, mm)\n  m1 = reshape(mean; shape=[2, 3, 1])\n"
     "  v1 = reshape(var; shape=[2, 3, 1])\n  v = add(v1, small)\n  r = sqrt(v)\n  d = sub(x, m1)\n"
     "  n = div(d, r)\n  g = mul(n, gain)\n  y = add(offset, g)\n",
     "layer_norm"},
    {"norm_of_clamped_variance",
     "  sx = reduce_sum(x; axes=[2], keep_dims=0)\n  sum = div(sx, eight)\n"
     "  mean = reshape(sum; shape=[2, 3, 1])\n  xx = mul(x, x)\n"
     "  square = reduce_mean(xx; axes=[2])\n  mm = mul(mean, mean)\n  raw = sub(square, mm)\n"
     "  var = max(zero, raw)\n  v = add(var, small)\n  r = sqrt(v)\n  i = reciprocal(r)\n"
     "  k = mul(i, gain)\n  d = sub(x, mean)\n  p = mul(d, k)\n  y = add(p, offset)\n",
     "layer_norm"},
    {"norm_of_differences",
     "  mean = reduce_mean(x; axes=[2])\n  xx = mul(x, x)\n  square = reduce_mean(xx; axes=[2])\n"
     "  mm = mul(mean, mean)\n  n = neg(mm)\n  var = add(square, n)\n  v = add(small, var)\n"
     "  r = sqrt(v)\n  xr = div(x, r)\n  mr = div(mean, r)\n  y = sub(xr, mr)\n",
     "layer_norm"},
    {"root_mean_square",
     "  xx = mul(x, x)\n  sxx = reduce_sum(xx; axes=[2])\n  m = div(sxx, eight)\n"
     "  v = add(m, small)\n  r = sqrt(v)\n  i = reciprocal(r)\n  g = mul(gain, i)\n"
     "  y = mul(x, g)\n",
     "rms_norm"},
    {"norm_of_channels",
     "  mean = reduce_mean(x; axes=[1])\n  d = sub(x, mean)\n  dd = mul(d, d)\n"
     "  var = reduce_mean(dd; axes=[1])\n  v = add(var, small)\n  r = sqrt(v)\n  n = div(d, r)\n"
     "  t = mul(n, channels)\n  y = add(t, channels)\n",
     "layer_norm"},
    {"norm_of_images",
     "  mean = reduce_mean(x; axes=[2, 3])\n  d = sub(x, mean)\n  dd = mul(d, d)\n"
     "  var = reduce_mean(dd; axes=[2, 3])\n  v = add(var, small)\n  r = sqrt(v)\n  n = div(d, r)\n"
     "  t = mul(n, image)\n  y = add(t, image)\n",
     "layer_norm", "2, 3, 4, 2"},
    {"norm_of_groups_spread_over_channels",
     "  g = reshape(x; shape=[2, 3, 4, 2])\n  gg = mul(g, g)\n  m = reduce_mean(g; axes=[1, 3])\n"
     "  square = reduce_mean(gg; axes=[1, 3])\n  mm = mul(m, m)\n  raw = sub(square, mm)\n"
     "  var = max(raw, zero)\n  me = expand(m; shape=[2, 1, 4, 2])\n"
     "  mean = reshape(me; shape=[2, 1, 8])\n  ve = expand(var; shape=[2, 1, 4, 2])\n"
     "  vc = reshape(ve; shape=[2, 1, 8])\n  v = add(vc, small)\n  r = sqrt(v)\n"
     "  i = reciprocal(r)\n  k = mul(i, gain)\n  d = sub(x, mean)\n  p = mul(d, k)\n"
     "  y = add(p, offset)\n",
     "layer_norm"},
};

inline std::string graph_text(const SpelledFunction& spelled) {
  constexpr struct {
    std::string_view name, shape, value;
  } kConstants[] = {
      {"zero", "", "0"},
      {"one", "", "1"},
      {"two", "", "2"},
      {"three", "", "3"},
      {"six", "", "6"},
      {"eight", "", "8"},
      {"minus_eight", "", "-8"},
      {"half", "", "0.5"},
      {"eighth", "", "0.125"},
      {"factor", "", "1.702"},
      {"root", "", "0.70710678"},
      {"cubic", "", "0.044715"},
      {"slope", "", "0.7978845608"},
      {"small", "", "0.000001"},
      {"gain", "1, 1, 8", ""},
      {"offset", "1, 1, 8", ""},
      {"channels", "3, 1", ""},
      {"image", "3, 1, 1", ""},
  };
  std::string text = fmt::format("graph {}\n  x: f32[{}]\n", spelled.name, spelled.shape);
  for (const auto& [name, shape, value] : kConstants) {
    if (spelled.nodes.find(name) == std::string_view::npos) continue;
    if (value.empty())  // several numbers
      text += fmt::format("  {0}_log = full(; shape=[{1}], value=0.5)\n  {0} = exp({0}_log)\n",
                          name, shape);
    else
      text += fmt::format("  {} = full(; shape=[], value={})\n", name, value);
  }
  return fmt::format("{}{}  return y\n", text, spelled.nodes);
}

}  // namespace soapstone::transforms
