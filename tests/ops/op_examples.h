// One or more calls of every operator, for tests that must hold of all operators. An operator
// without an example fails registry_test.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace soapstone::ops::test {

struct OpExample {
  std::string inputs;     ///< `x: f32[2, 3]  i: i64[2]`: separated by two spaces.
  std::string call;       ///< `gather(x, i; axis=0)`
  std::string results;    ///< Types of the results, separated by two spaces.
  bool positive = false;  ///< Defined for positive numbers only.

  std::string op() const { return call.substr(0, call.find('(')); }
  std::size_t result_count() const {
    std::size_t count = 1;
    for (std::size_t at = 0; (at = results.find("  ", at)) != std::string::npos; at += 2) ++count;
    return count;
  }

  /// The call as a graph.
  std::string graph_text() const {
    std::string text = "graph example\n", declared = inputs, names;
    for (std::size_t at = 0; (at = declared.find("  ", at)) != std::string::npos; at += 3)
      declared.replace(at, 2, "\n  ");
    if (!declared.empty()) text += "  " + declared + "\n";
    for (std::size_t k = 0; k < result_count(); ++k) names += (k ? ", y" : "y") + std::to_string(k);
    return text + "  " + names + " = " + call + "\n  return " + names + "\n";
  }
};

inline std::vector<OpExample> unary_examples() {
  std::vector<OpExample> examples;
  for (const char* op :
       {"relu", "sigmoid", "tanh", "erf", "exp", "neg", "abs", "hard_swish", "floor", "ceil",
        "round", "sin", "cos", "leaky_relu", "elu", "hard_sigmoid", "gelu", "softplus"})
    examples.push_back({"x: f32[2, 3]", std::string(op) + "(x)", "f32[2, 3]"});
  for (const char* op : {"log", "sqrt", "reciprocal"})
    examples.push_back({"x: f32[2, 3]", std::string(op) + "(x)", "f32[2, 3]", true});
  for (const char* op : {"relu", "neg", "abs"})
    examples.push_back({"x: i64[4]", std::string(op) + "(x)", "i64[4]"});
  examples.push_back({"x: f32[2, 3]", "leaky_relu(x; alpha=0.125)", "f32[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "elu(x; alpha=0.5)", "f32[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "hard_sigmoid(x; alpha=0.5, beta=0.25)", "f32[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "gelu(x; approximate=\"tanh\")", "f32[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "clip(x; min=-0.5, max=1.0)", "f32[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "clip(x; min=0.25)", "f32[2, 3]"});
  examples.push_back({"x: i64[2, 3]", "clip(x; max=1.0)", "i64[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "clip(x)", "f32[2, 3]"});
  examples.push_back({"x: bool[2, 3]", "not(x)", "bool[2, 3]"});
  for (const char* op : {"is_nan", "is_inf"})
    examples.push_back({"x: f32[2, 3]", std::string(op) + "(x)", "bool[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "cast(x; to=\"i64\")", "i64[2, 3]"});
  examples.push_back({"x: f32[2, 3]", "cast(x; to=\"bool\")", "bool[2, 3]"});
  examples.push_back({"x: i64[2, 3]", "cast(x; to=\"f32\")", "f32[2, 3]"});
  return examples;
}

inline std::vector<OpExample> binary_examples() {
  std::vector<OpExample> examples;
  for (const char* op : {"add", "mul", "sub", "div", "min", "max"}) {
    const std::string call = std::string(op) + "(a, b)";
    examples.push_back({"a: f32[2, 3]  b: f32[2, 3]", call, "f32[2, 3]", true});
    examples.push_back({"a: f32[2, 1]  b: f32[4, 1, 3]", call, "f32[4, 2, 3]", true});
  }
  for (const char* op : {"add", "mul", "sub", "min", "max"})
    examples.push_back({"a: i64[3]  b: i64[]", std::string(op) + "(a, b)", "i64[3]"});
  for (const char* op : {"mul", "min", "max"})
    examples.push_back({"a: bool[3]  b: bool[3]", std::string(op) + "(a, b)", "bool[3]"});
  for (const char* op : {"less", "less_or_equal", "equal"})
    examples.push_back({"a: i64[4, 3]  b: i64[3]", std::string(op) + "(a, b)", "bool[4, 3]"});
  examples.push_back({"a: f32[2, 3]  b: f32[3]", "pow(a, b)", "f32[2, 3]", true});
  examples.push_back({"c: bool[3]  a: f32[2, 1]  b: f32[]", "where(c, a, b)", "f32[2, 3]"});
  return examples;
}

inline std::vector<OpExample> window_examples() {
  const char* conv = "x: f32[2, 4, 5, 6]  w: f32[6, 4, 3, 2]";
  const char* grouped = "x: f32[2, 4, 5, 6]  w: f32[6, 2, 3, 2]  b: f32[6]";
  const char* image = "x: f32[2, 3, 6, 7]";
  return {
      {conv, "conv(x, w)", "f32[2, 6, 3, 5]"},
      {conv, "conv(x, w; pads=[1, 0, 2, 1], strides=[2, 1])", "f32[2, 6, 3, 6]"},
      {conv, "conv(x, w; dilations=[2, 3])", "f32[2, 6, 1, 3]"},
      {grouped, "conv(x, w, b; group=2, pads=[1, 1, 1, 1])", "f32[2, 6, 5, 7]"},
      {"x: f32[1, 2, 7]  w: f32[3, 2, 3]", "conv(x, w; strides=[2], dilations=[1], pads=[1, 1])",
       "f32[1, 3, 4]"},
      {"x: f32[2, 4, 3, 5]  w: f32[4, 6, 3, 2]", "conv_transpose(x, w)", "f32[2, 6, 5, 6]"},
      {"x: f32[2, 4, 3, 5]  w: f32[4, 3, 3, 2]  b: f32[6]",
       "conv_transpose(x, w, b; group=2, strides=[2, 1], pads=[1, 0, 1, 1], output_padding=[1, 0])",
       "f32[2, 6, 6, 5]"},
      {"x: f32[1, 2, 4]  w: f32[2, 3, 3]",
       "conv_transpose(x, w; strides=[3], dilations=[2], pads=[0, 2])", "f32[1, 3, 12]"},
      {"w: f32[2, 3, 3, 2]", "enlarge(w; kernel=[5, 5])", "f32[2, 3, 5, 5]"},
      {"x: f32[1, 2, 3, 4]", "resize(x; up=[1, 1, 2, 3])", "f32[1, 2, 6, 12]"},
      {"x: f32[1, 2, 4, 6]",
       "resize(x; up=[1, 1, 3, 1], down=[1, 1, 2, 2], coordinates=\"asymmetric\", "
       "rounding=\"floor\")",
       "f32[1, 2, 6, 3]"},
      {"x: f32[1, 2, 3, 4]", "resize(x; up=[1, 1, 2, 2], mode=\"linear\")", "f32[1, 2, 6, 8]"},
      {"x: f32[1, 1, 3, 5]",
       "resize(x; up=[1, 1, 2, 1], down=[1, 1, 1, 4], mode=\"linear\", "
       "coordinates=\"align_corners\")",
       "f32[1, 1, 5, 2]"},
      {"x: f32[2, 4]",
       "resize(x; up=[1, 5], down=[1, 3], coordinates=\"align_corners\", rounding=\"ceil\")",
       "f32[2, 6]"},
      {image, "max_pool(x; kernel=[3, 2])", "f32[2, 3, 4, 6]"},
      {image, "max_pool(x; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)",
       "f32[2, 3, 4, 4]"},
      {image, "average_pool(x; kernel=[3, 2])", "f32[2, 3, 4, 6]"},
      {image, "average_pool(x; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])",
       "f32[2, 3, 3, 4]"},
      {image,
       "average_pool(x; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)",
       "f32[2, 3, 3, 4]"},
      {image,
       "average_pool(x; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, "
       "count_include_pad=1)",
       "f32[2, 3, 4, 4]"},
      {image, "global_average_pool(x)", "f32[2, 3, 1, 1]"},
  };
}

inline std::vector<OpExample> other_examples() {
  return {
      {"a: f32[2, 3]  b: f32[3, 4]", "matmul(a, b)", "f32[2, 4]"},
      {"a: f32[5, 1, 2, 3]  b: f32[4, 3, 2]", "matmul(a, b)", "f32[5, 4, 2, 2]"},
      {"x: f32[2, 3, 4]  s: f32[3]  b: f32[3]  m: f32[3]  v: f32[3]",
       "batch_norm(x, s, b, m, v; epsilon=0.001)", "f32[2, 3, 4]", true},
      {"x: f32[2, 3, 4]  s: f32[4]", "layer_norm(x, s; axis=2)", "f32[2, 3, 4]"},
      {"x: f32[2, 3, 4]  s: f32[3, 4]  b: f32[3, 4]", "layer_norm(x, s, b; axis=1, epsilon=0.01)",
       "f32[2, 3, 4]"},
      {"x: f32[2, 3, 4]  s: f32[4]", "rms_norm(x, s; axis=2)", "f32[2, 3, 4]"},
      {"x: f32[2, 3, 4]", "softmax(x; axis=1)", "f32[2, 3, 4]"},
      {"x: f32[2, 3, 4]", "softmax(x; axis=2)", "f32[2, 3, 4]"},
      {"x: f32[2, 3, 4]", "log_softmax(x; axis=1)", "f32[2, 3, 4]"},
      {"x: f32[2, 3, 4]", "log_softmax(x; axis=2)", "f32[2, 3, 4]"},
      {"x: f32[2, 3]  t: i64[2]", "nll_loss(x, t)", "f32[]"},
      {"x: f32[2, 3, 4]  t: i32[2, 4]  w: f32[3]",
       "nll_loss(x, t, w; reduction=\"none\", ignore_index=[1])", "f32[2, 4]"},
      {"x: f32[2, 3, 4]  t: i64[2, 4]  w: f32[3]", "nll_loss(x, t, w; reduction=\"sum\")", "f32[]"},
      {"x: f32[2, 3, 4]", "reduce_sum(x; axes=[0, 2])", "f32[1, 3, 1]"},
      {"x: f32[2, 3, 4]", "reduce_sum(x; axes=[1], keep_dims=0)", "f32[2, 4]"},
      {"x: f32[2, 3]", "reduce_sum(x; axes=[])", "f32[2, 3]"},
      {"x: f32[2, 3, 4]", "reduce_mean(x; axes=[0, 1], keep_dims=0)", "f32[4]"},
      {"x: f32[2, 3, 4]", "reduce_max(x; axes=[2])", "f32[2, 3, 1]"},
      {"x: f32[2, 3, 4]", "reduce_min(x; axes=[0], keep_dims=0)", "f32[3, 4]"},
      {"x: f32[2, 3, 4]", "reduce_log_sum_exp(x; axes=[0, 1])", "f32[1, 1, 4]"},
      {"x: f32[2, 3, 4]", "reduce_log_sum_exp(x; axes=[2], keep_dims=0)", "f32[2, 3]"},
      {"x: f32[2, 5, 3]", "cumsum(x; axis=1)", "f32[2, 5, 3]"},
      {"x: f32[2, 5, 3]", "top_k(x; axis=1, leading=2)", "f32[2, 2, 3]  i64[2, 2, 3]"},
      {"x: i64[2, 5]", "top_k(x; axis=1, leading=5, descending=0)", "i64[2, 5]  i64[2, 5]"},
      {"x: f32[4, 3]", "cumsum(x; axis=0, exclusive=1)", "f32[4, 3]"},
      {"x: f32[2, 5]", "cumsum(x; axis=1, exclusive=1, reverse=1)", "f32[2, 5]"},
      {"x: i64[6]", "cumsum(x; axis=0, reverse=1)", "i64[6]"},
      {"a: f32[2, 3]  b: f32[3, 4]", "einsum(a, b; equation=\"ab,bc->ac\")", "f32[2, 4]"},
      {"a: f32[5, 2, 3]  b: f32[5, 4, 3]", "einsum(a, b; equation=\"abc,adc->adb\")",
       "f32[5, 4, 2]"},
      {"a: f32[3, 3, 2]", "einsum(a; equation=\"aab->ba\")", "f32[2, 3]"},
      {"a: f32[3]  b: f32[3]  c: f32[2]", "einsum(a, b, c; equation=\"a,a,b->b\")", "f32[2]"},
      {"a: f32[2]  b: f32[3]", "einsum(a, b; equation=\"a,b->ab\")", "f32[2, 3]"},
      {"r: f32[]  x: f32[2, 3]  g: f32[2, 3]", "sgd(r, x, g)", "f32[2, 3]"},
      {"r: f32[]  x: f32[4]  g: f32[4]", "sgd(r, x, g; norm_coefficient=0.25)", "f32[4]"},
      {"r: f32[]  t: i64[]  x: f32[2, 3]  g: f32[2, 3]  v: f32[2, 3]",
       "momentum(r, t, x, g, v; alpha=0.875, beta=0.5)", "f32[2, 3]  f32[2, 3]"},
      {"r: f32[]  t: i64[]  x: f32[4]  g: f32[4]  v: f32[4]",
       "momentum(r, t, x, g, v; alpha=0.875, beta=0.5, norm_coefficient=0.25, mode=\"nesterov\")",
       "f32[4]  f32[4]"},
      {"r: f32[]  t: i64[]  x: f32[2, 3]  g: f32[2, 3]  v: f32[2, 3]  h: f32[2, 3]",
       "adam(r, t, x, g, v, h; epsilon=0.125)", "f32[2, 3]  f32[2, 3]  f32[2, 3]", true},
      {"r: f32[]  t: i64[]  x: f32[4]  g: f32[4]  v: f32[4]  h: f32[4]",
       "adam(r, t, x, g, v, h; alpha=0.5, beta=0.75, norm_coefficient=0.25, "
       "norm_coefficient_post=0.125)",
       "f32[4]  f32[4]  f32[4]", true},
      {"", "full(; shape=[2, 3], value=0.5)", "f32[2, 3]"},
      {"", "iota(; shape=[4], axis=0)", "i64[4]"},
      {"", "iota(; shape=[2, 3, 4], axis=1)", "i64[2, 3, 4]"},
      {"", "eye(; shape=[2, 3])", "f32[2, 3]"},
      {"", "eye(; shape=[3, 2, 3, 4])", "f32[3, 2, 3, 4]"},
  };
}

/// Of the operators that stand for a few others.
inline std::vector<OpExample> composite_examples() {
  const char* heads = "q: f32[2, 3, 2, 4]  k: f32[2, 5, 2, 4]  v: f32[2, 5, 2, 3]";
  const std::string offset = std::string(heads) + "  m: ";
  return {
      {"x: f32[2, 3]  b: f32[3]", "biased_gelu(x, b)", "f32[2, 3]"},
      {"x: f32[2, 4, 3]  b: f32[3]", "biased_gelu(x, b; approximate=\"tanh\")", "f32[2, 4, 3]"},
      {"x: f32[2, 3]", "quick_gelu(x)", "f32[2, 3]"},
      {"x: f32[2, 3]", "quick_gelu(x; alpha=1.0)", "f32[2, 3]"},
      {"a: f32[2, 3]  b: f32[3, 4]", "scaled_matmul(a, b; alpha=0.125)", "f32[2, 4]"},
      {"a: f32[5, 3, 2]  b: f32[5, 4, 3]", "scaled_matmul(a, b; transpose_a=1, transpose_b=1)",
       "f32[5, 2, 4]"},
      {"x: f32[2, 5, 4]  y: f32[2, 5, 4]  s: f32[4]", "sum_layer_norm(x, y, s)",
       "f32[2, 5, 4]  f32[2, 5, 4]"},
      {"x: f32[5, 4]  y: f32[5, 4]  s: f32[4]  b: f32[4]",
       "sum_layer_norm(x, y, s, b; epsilon=0.01)", "f32[5, 4]  f32[5, 4]"},
      {"x: f32[2, 5, 4]  y: f32[2, 5, 4]  s: f32[4]", "sum_rms_norm(x, y, s)",
       "f32[2, 5, 4]  f32[2, 5, 4]"},
      {heads, "attention(q, k, v)", "f32[2, 3, 2, 3]"},
      {offset + "f32[2, 2, 3, 5]", "attention(q, k, v, m)", "f32[2, 3, 2, 3]"},
      {offset + "f32[2, 1, 1, 5]", "attention(q, k, v, m)", "f32[2, 3, 2, 3]"},
  };
}

inline std::vector<OpExample> layout_examples() {
  return {
      {"x: f32[2, 3]  y: f32[2, 1]  z: f32[2, 2]", "concat(x, y, z; axis=1)", "f32[2, 6]"},
      {"x: f32[6, 2]", "split(x; axis=0, sizes=[1, 3, 2])", "f32[1, 2]  f32[3, 2]  f32[2, 2]"},
      {"x: f32[5, 6]", "slice(x; axes=[0, 1], starts=[1, 5], sizes=[2, 3], steps=[2, -2])",
       "f32[2, 3]"},
      {"x: f32[5]", "slice(x; axes=[0], starts=[4], sizes=[5], steps=[-1])", "f32[5]"},
      {"x: f32[5]", "slice(x; axes=[0], starts=[0], sizes=[0], steps=[1])", "f32[0]"},
      {"x: f32[2, 3]", "pad(x; pads=[1, 0, 0, 2])", "f32[3, 5]"},
      {"x: f32[3, 4]", "pad(x; pads=[-1, 1, 2, -1], value=1.5)", "f32[4, 4]"},
      {"x: f32[2, 3]", "pad(x; pads=[1, 0, 0, 1], interior=[1, 2], value=-2.0)", "f32[4, 8]"},
      {"x: i64[3]", "pad(x; pads=[1, 1], value=7.0)", "i64[5]"},
      {"x: f32[2, 3, 4]", "transpose(x; perm=[2, 0, 1])", "f32[4, 2, 3]"},
      {"x: f32[2, 3, 4]", "reshape(x; shape=[6, 4])", "f32[6, 4]"},
      {"x: f32[1, 1]", "reshape(x; shape=[])", "f32[]"},
      {"x: f32[3, 1]", "expand(x; shape=[2, 3, 4])", "f32[2, 3, 4]"},
      {"x: f32[4, 3, 2]  i: i64[2, 2]", "gather(x, i; axis=1)", "f32[4, 2, 2, 2]"},
      {"x: f32[3]  i: i32[]", "gather(x, i; axis=0)", "f32[]"},
      {"x: f32[4, 3]  i: i64[2, 3]", "gather_elements(x, i; axis=0)", "f32[2, 3]"},
      {"x: f32[4, 3, 2]  i: i64[2, 5, 1]", "gather_elements(x, i; axis=1)", "f32[2, 5, 1]"},
      {"x: i64[2, 3]  i: i32[2, 1]", "gather_elements(x, i; axis=1)", "i64[2, 1]"},
  };
}

/// All examples, in the order of the families.
inline std::vector<OpExample> op_examples() {
  std::vector<OpExample> all;
  for (const auto& family : {window_examples(), other_examples(), unary_examples(),
                             binary_examples(), layout_examples()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

/// Names the parameter of a test: `info` is GoogleTest's, which who only wants examples need not
/// have.
inline constexpr auto example_name = [](const auto& info) {
  return info.param.op() + "_" + std::to_string(info.index);
};

}  // namespace soapstone::ops::test
