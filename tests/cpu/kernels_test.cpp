// Every operator's kernels against its comprehension: on each example call, with inputs given at
// run time and as constants, row-major and channels-last.
#include <set>

#include "tests/cpu/cpu_test.h"
#include "tests/ops/op_examples.h"

namespace soapstone::cpu::test {
namespace {

using ops::test::OpExample;
using runtime::Fusion;
using runtime::test::expect_close;
using runtime::test::parse;

constexpr double kTolerance = 1e-4;

std::string body_of(const OpExample& example) {
  std::string text = "\n", names;
  for (std::size_t at = 0; at < example.inputs.size();) {
    const std::size_t end = std::min(example.inputs.find("  ", at), example.inputs.size());
    text += "  " + example.inputs.substr(at, end - at) + "\n";
    at = end + 2;
  }
  std::size_t results = 1;
  for (std::size_t at = 0; (at = example.results.find("  ", at)) != std::string::npos; at += 2)
    ++results;
  for (std::size_t k = 0; k < results; ++k) names += (k ? ", y" : "y") + std::to_string(k);
  return text + "  " + names + " = " + example.call + "\n  return " + names + "\n";
}

/// Normal numbers, or positive ones where the operator needs them; indices that are in range.
std::vector<core::Literal> inputs_of(const core::Graph& graph, const OpExample& example) {
  std::vector<core::Literal> inputs = runtime::random_inputs(graph, 1, 2);
  if (!example.positive) return inputs;
  for (core::Literal& input : inputs) {
    if (input.data_type() != core::DataType::kFloat32) continue;
    std::vector<float> values;
    for (float value : input.as<float>()) values.push_back(std::fabs(value) + 0.5f);
    input = core::Literal::floats(input.dims(), values);
  }
  return inputs;
}

/// Runs and compares; returns why the reference kernel ran, if it did.
std::string check(const core::Graph& graph, const std::vector<core::Literal>& inputs) {
  runtime::Executable program = runtime::test::executable(graph, backend(), Fusion::kNone);
  const auto outputs = program.run(inputs);
  EXPECT_TRUE(outputs.ok()) << (outputs ? "" : outputs.error().to_string());
  const auto wanted = runtime::test::expected(graph, inputs);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    expect_close((*outputs)[k].to_doubles(), wanted[k], kTolerance, core::print(graph));
  std::string reasons;
  for (const auto& [node, why] : program.report().reference_kernels)
    reasons += node + ": " + why + "\n";
  return reasons;
}

/// The same call where all inputs but the first are constants.
core::Graph with_constants(const core::Graph& graph, const std::vector<core::Literal>& values) {
  core::GraphBuilder builder;
  const core::Node& node = graph.node(graph.order()[0]);
  std::vector<core::TensorId> inputs;
  for (core::TensorId input : node.inputs) {
    const auto at = std::find(graph.inputs().begin(), graph.inputs().end(), input);
    const auto number = static_cast<std::size_t>(at - graph.inputs().begin());
    inputs.push_back(number == 0
                         ? builder.add_input("x", graph.tensor(input).type)
                         : builder.add_constant(std::make_shared<core::Literal>(values[number])));
  }
  const auto results = ops::append(builder, node.op->name, inputs, node.attributes);
  EXPECT_TRUE(results.ok());
  builder.set_outputs(*results);
  return *std::move(builder).finish();
}

TEST(Kernels, ComputeEveryExample) {
  // Operators without a kernel of their own, which run on the comprehension: integers and rarities,
  // among them einsums that are no product of two matrices, places by data, and updates of weights.
  const std::set<std::string> no_kernel = {
      "relu(x) i64",
      "neg(x) i64",
      "abs(x) i64",
      "clip(x; max=1.0) i64",
      "cumsum(x; axis=0, reverse=1) i64",
      "einsum(a; equation=\"aab->ba\") f32",
      "einsum(a, b, c; equation=\"a,a,b->b\") f32",
      "gather_elements(x, i; axis=0) f32",
      "gather_elements(x, i; axis=1) f32",
      "gather_elements(x, i; axis=1) i64",
      "top_k(x; axis=1, leading=2) f32",
      "top_k(x; axis=1, leading=5, descending=0) i64",
      ("average_pool(x; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, "
       "count_include_pad=1) f32"),
  };
  std::set<std::string> by_reference;
  for (const OpExample& example : ops::test::op_examples()) {
    SCOPED_TRACE(example.call);
    const core::Graph graph = parse(body_of(example));
    const std::string why = check(graph, inputs_of(graph, example));
    const std::string op = example.op();
    if (!why.empty() && op != "sgd" && op != "momentum" && op != "adam")
      by_reference.insert(example.call + " " +
                          example.results.substr(0, example.results.find('[')));
  }
  EXPECT_EQ(by_reference, no_kernel);
}

TEST(Kernels, ComputeEveryExampleWithConstants) {
  for (const OpExample& example : ops::test::op_examples()) {
    SCOPED_TRACE(example.call);
    const core::Graph graph = parse(body_of(example));
    const std::vector<core::Literal> inputs = inputs_of(graph, example);
    if (inputs.size() > 1) check(with_constants(graph, inputs), {inputs[0]});
  }
}

TEST(Kernels, ComputeEveryExampleOnChannelsLast) {
  int tried = 0;
  for (const OpExample& example : ops::test::op_examples()) {
    const bool image = example.inputs.starts_with("x: f32[2, 3, 6, 7]");
    const bool sequence = example.inputs.starts_with("x: f32[2, 3, 4]");
    if ((!image && !sequence) || example.positive) continue;
    SCOPED_TRACE(example.call);
    // A convolution leaves its result channels-last.
    std::string body = body_of(example);
    body.replace(body.find("x:"), 2, "x0:");
    const std::string weight = image ? "f32[3, 3, 1, 1]" : "f32[3, 3, 1]";
    const std::string attributes = image ? "" : "; strides=[1], dilations=[1], pads=[0, 0]";
    const std::size_t at = body.find("  y0");
    body.insert(at, "  w0: " + weight + "\n  x = conv(x0, w0" + attributes + ")\n");
    const core::Graph graph = parse(body);
    check(graph, runtime::random_inputs(graph, 2, 2));
    ++tried;
  }
  EXPECT_GE(tried, 15);
}

TEST(Kernels, BlocksAndTails) {
  // Longer than one block of the elementwise kernel, and no multiple of any vector length.
  const core::Graph graph = parse(R"(
  x: f32[7, 1033]
  r: f32[1033]
  c: f32[7, 1]
  s: f32[]
  a = add(x, r)
  b = mul(a, c)
  d = sub(b, s)
  e = max(c, x)
  l = less(d, e)
  w = where(l, d, e)
  f = sigmoid(w)
  g = reduce_sum(f; axes=[1])
  h = reduce_max(x; axes=[0], keep_dims=0)
  return f, g, h
)");
  EXPECT_EQ(check(graph, runtime::random_inputs(graph, 1)), "");
}

TEST(Kernels, PowersWithConstantExponents) {
  const core::Graph graph = parse(R"(
  x: f32[50]
  y = exp(x)
  a: f32[] = {2}
  b: f32[1] = {3}
  c: f32[] = {0.5}
  d: f32[] = {-1}
  e: f32[] = {1.75}
  f: f32[1, 1] = {2}
  p = pow(y, a)
  q = pow(y, b)
  r = pow(y, c)
  s = pow(y, d)
  t = pow(y, e)
  u = pow(x, f)
  return p, q, r, s, t, u
)");
  EXPECT_EQ(check(graph, runtime::random_inputs(graph, 1)), "");
}

TEST(Kernels, GatherWrapsIndicesAndRefusesThoseOutOfRange) {
  const core::Graph graph = parse("\n  x: f32[3, 2]\n  i: i64[4]\n  y = gather(x, i; axis=0)\n"
                                  "  return y\n");
  const std::vector<core::Literal> inputs = {
      core::Literal::floats({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}),
      core::Literal::ints({4}, std::vector<std::int64_t>{2, -1, -3, 0})};
  check(graph, inputs);
  for (const std::int64_t index : {3, -4}) {
    runtime::Executable program = runtime::test::executable(graph, backend(), Fusion::kNone);
    const auto outputs = program.run(std::vector<core::Literal>{
        inputs[0], core::Literal::ints({4}, std::vector<std::int64_t>{0, 1, 2, index})});
    ASSERT_FALSE(outputs.ok());
    EXPECT_EQ(outputs.error().code, core::ErrorCode::kInvalidInput);
  }
}

TEST(Kernels, IntegerIndicesNeedNoReferenceKernel) {
  const core::Graph graph = parse(R"(
  x: f32[5, 2]
  i: i64[4]
  z: i64[]
  n: i64[]
  b = less(i, z)
  w = add(i, n)
  j = where(b, w, i)
  y = gather(x, j; axis=0)
  return y
)");
  EXPECT_EQ(check(graph, runtime::random_inputs(graph, 1, 3)), "");
}

TEST(Kernels, EmptyTensors) {
  const core::Graph graph = parse(R"(
  x: f32[0, 3]
  w: f32[3, 4]
  y = matmul(x, w)
  z = relu(y)
  c = concat(z, z; axis=0)
  return c
)");
  check(graph, runtime::random_inputs(graph, 1));
}

TEST(CpuBackend, NamesItsDevice) {
  const runtime::DeviceInfo& device = backend().device();
  EXPECT_NE(device.libraries.find("oneDNN "), std::string::npos);
  EXPECT_NE(device.name.find('('), std::string::npos);
  EXPECT_EQ(device.threads, 1);
}

TEST(CpuBackend, RefusesNoThreads) {
  const auto result = make_cpu_backend({.threads = 0});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, core::ErrorCode::kInvalidInput);
}

TEST(CpuBackend, SaysWhyTheReferenceKernelRuns) {
  const core::Graph graph =
      parse("\n  x: f64[2, 3]\n  w: f64[3, 4]\n  y = matmul(x, w)\n  return y\n");
  const auto program = runtime::test::executable(graph, backend());
  ASSERT_EQ(program.report().reference_kernels.size(), 1u);
  EXPECT_EQ(program.report().reference_kernels[0].second, "matmul: elements are not f32");
}

}  // namespace
}  // namespace soapstone::cpu::test
