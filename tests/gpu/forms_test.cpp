// What is read off comprehensions and told to libraries is what operators mean: every description
// is computed on the host and compared with the reference.
#include <gtest/gtest.h>

#include "models/networks/builders.h"
#include "runtime/execution/elements.h"
#include "runtime/launches/execution_plan.h"
#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/library_math.h"
#include "tests/models/small_sizes.h"
#include "tests/ops/op_examples.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;

struct Described {
  int operations = 0, products = 0;
};

/// Replaces the result in `values` by what `compute` makes of the rest, and compares.
template <class Compute>
void expect_same(const test::TensorValues& values, core::TensorId result, const std::string& what,
                 const Compute& compute) {
  test::TensorValues own = values;
  std::ranges::fill(own.at(result), std::nan(""));
  compute(own);
  runtime::test::expect_close(own.at(result), values.at(result), 1e-6, what);
}

/// Describes the nodes as a launch, if that is possible, and checks the descriptions.
Described check(const core::Graph& graph, std::span<const core::NodeId> nodes,
                core::TensorId output, const test::TensorValues& values) {
  Described counts;
  const core::TensorId outputs[] = {output};
  std::string what = core::print(graph);
  for (const core::NodeId node : nodes) what += graph.node(node).op->name + " ";
  if (const auto operations = operation_graph_of(graph, nodes, outputs)) {
    ++counts.operations;
    expect_same(values, output, what,
                [&](test::TensorValues& own) { test::run_operations(*operations, own); });
  }
  const auto region = make_region(graph, nodes, outputs);
  if (!region) return counts;
  const auto product = product_of(*region, runtime::dims_of(graph.tensor(output).type));
  if (!product) return counts;
  if (const auto matrices = matrix_product_of(*region, *product)) {
    ++counts.products;
    expect_same(values, output, what,
                [&](test::TensorValues& own) { test::run_product(*matrices, own); });
  }
  return counts;
}

Described check_whole(const std::string& text) {
  const core::Graph graph = soapstone::graph_of(text);
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  return check(graph, nodes, graph.outputs()[0], test::all_values(graph));
}

struct LibraryForm {
  const char* text;
  int operations, products;  ///< How many ways of either kind there are.
};

constexpr LibraryForm kLibraryForms[] = {
    {"x: f32[4, 6]\n  w: f32[6, 8]\n  y = matmul(x, w)\n  return y", 1, 1},
    {"x: f32[4, 6]\n  w: f32[6, 8]\n  b: f32[8]\n  t = matmul(x, w)\n  a = add(t, b)\n"
     "  y = relu(a)\n  return y",
     1, 1},
    {"x: f32[4, 6]\n  w: f32[6, 8]\n  r: f32[4, 8]\n  b: f32[8]\n  t = matmul(x, w)\n"
     "  a = add(t, b)\n  y = add(r, a)\n  return y",
     1, 1},
    // A GELU by erf is none of cuBLASLt's where elements have 32 bits.
    {"x: f32[4, 6]\n  w: f32[6, 8]\n  b: f32[8]\n  t = matmul(x, w)\n  a = add(t, b)\n"
     "  y = gelu(a)\n  return y",
     1, 0},
    {"x: f32[4, 6]\n  w: f32[6, 8]\n  t = matmul(x, w)\n  s = sigmoid(t)\n  y = mul(t, s)\n"
     "  return y",
     1, 0},
    // Heads: a transpose behind the product, where batches lie at two distances.
    {"x: f32[2, 3, 5, 4]\n  w: f32[2, 3, 4, 6]\n  t = matmul(x, w)\n"
     "  u = transpose(t; perm=[0, 2, 1, 3])\n  y = reshape(u; shape=[2, 5, 18])\n  return y",
     1, 1},
    {"x: f32[1, 3, 5, 4]\n  w: f32[1, 3, 4, 6]\n  t = matmul(x, w)\n"
     "  u = transpose(t; perm=[0, 2, 1, 3])\n  y = reshape(u; shape=[1, 5, 18])\n  return y",
     1, 1},
    // Transposes and cuts before it, and a scale.
    {"x: f32[1, 5, 12]\n  w: f32[1, 5, 12]\n  a = reshape(x; shape=[1, 5, 3, 4])\n"
     "  b = transpose(a; perm=[0, 2, 1, 3])\n  c = reshape(w; shape=[1, 5, 3, 4])\n"
     "  d = transpose(c; perm=[0, 2, 3, 1])\n  t = matmul(b, d)\n  k = full(; shape=[], "
     "value=0.5)\n"
     "  y = mul(t, k)\n  return y",
     1, 1},
    {"x: f32[5, 12]\n  w: f32[4, 6]\n  a = slice(x; axes=[1], starts=[4], sizes=[4], steps=[1])\n"
     "  y = matmul(a, w)\n  return y",
     1, 1},
    {"x: f32[2, 3, 4]\n  w: f32[5, 3]\n  y = einsum(x, w; equation=\"bij,ki->bkj\")\n  return y", 1,
     1},
    // A sum over two loops that no stride describes.
    {"x: f32[2, 3, 4]\n  w: f32[4, 2]\n  a = transpose(x; perm=[1, 2, 0])\n"
     "  b = reshape(a; shape=[3, 8])\n  c = reshape(w; shape=[8, 1])\n  y = matmul(b, c)\n  return "
     "y",
     0, 0},
    {"x: f32[2, 3, 7, 7]\n  w: f32[4, 3, 3, 3]\n  b: f32[4]\n"
     "  y = conv(x, w, b; pads=[1, 1, 1, 1], strides=[2, 2])\n  return y",
     1, 0},
    {"x: f32[2, 4, 7, 7]\n  w: f32[6, 2, 3, 3]\n  r: f32[2, 6, 5, 5]\n  t = conv(x, w; group=2)\n"
     "  a = add(t, r)\n  y = relu(a)\n  return y",
     1, 0},
    {"x: f32[2, 4, 5, 5]\n  w: f32[6, 4, 1, 1]\n  y = conv(x, w)\n  return y", 1, 1},
    {"x: f32[1, 2, 9]\n  w: f32[3, 2, 3]\n  b: f32[3, 1]\n  t = conv(x, w; pads=[1, 1], "
     "strides=[1], "
     "dilations=[1])\n  a = add(t, b)\n  y = relu(a)\n  return y",
     1, 0},
    {"x: f32[2, 3, 6, 6]\n  y = max_pool(x; kernel=[3, 3], strides=[2, 2], ceil_mode=1)\n  return "
     "y",
     1, 0},
    {"x: f32[2, 3, 6, 6]\n  y = average_pool(x; kernel=[3, 3], pads=[1, 1, 1, 1], "
     "count_include_pad=1)\n  return y",
     1, 0},
    {"x: f32[2, 3, 6, 6]\n  y = average_pool(x; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], "
     "ceil_mode=1)\n  return y",
     1, 0},
    {"x: f32[2, 3, 6]\n  y = reduce_mean(x; axes=[1])\n  return y", 1, 0},
    {"x: f32[2, 3, 6]\n  y = reduce_max(x; axes=[0, 2])\n  return y", 1, 0},
    {"x: f32[2, 3, 6]\n  s: f32[6]\n  b: f32[6]\n  y = layer_norm(x, s, b; axis=2)\n  return y", 1,
     0},
    {"x: f32[2, 3, 6]\n  s: f32[6]\n  y = rms_norm(x, s; axis=2)\n  return y", 1, 0},
    // What libraries do not have.
    {"x: f32[2, 3, 6]\n  s: f32[6]\n  y = layer_norm(x, s; axis=2)\n  return y", 0, 0},
    {"x: f32[2, 6]\n  y = softmax(x; axis=1)\n  return y", 0, 0},
    {"x: f32[2, 3, 6, 6]\n  w: f32[3, 4, 3, 3]\n  y = conv_transpose(x, w)\n  return y", 0, 0},
};

TEST(LibraryForms, AreWhatLaunchesMean) {
  for (const LibraryForm& form : kLibraryForms) {
    const Described found = check_whole("graph form\n  " + std::string(form.text) + "\n");
    EXPECT_EQ(found.operations, form.operations) << form.text;
    EXPECT_EQ(found.products, form.products) << form.text;
  }
}

/// Inputs and results with channels last, as launches have them; what lies between is not told.
TEST(LibraryForms, FollowLayouts) {
  constexpr const char* kImages[] = {
      "x: f32[2, 4, 7, 7]\n  w: f32[6, 2, 3, 3]\n  b: f32[6]\n  r: f32[2, 6, 5, 5]\n"
      "  t = conv(x, w, b; group=2)\n  a = add(t, r)\n  y = relu(a)\n  return y",
      "x: f32[2, 3, 6, 6]\n  y = max_pool(x; kernel=[3, 3], strides=[2, 2], ceil_mode=1)\n"
      "  return y",
      "x: f32[2, 3, 6, 5]\n  y = global_average_pool(x)\n  return y"};
  for (const char* text : kImages) {
    const core::Graph graph = soapstone::graph_of("graph g\n  " + std::string(text) + "\n");
    const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
    TensorLayouts layouts;
    test::TensorValues values = test::all_values(graph);
    for (const auto tensors : {graph.inputs(), graph.outputs()})
      for (const core::TensorId id : tensors) {
        const core::Dims dims = runtime::dims_of(graph.tensor(id).type);
        if (dims.size() != 4) continue;
        layouts.emplace(id, runtime::Layout::kChannelsLast);
        std::vector<double>& memory = values.at(id);
        const std::vector<double> row_major = memory;
        runtime::copy_strided(dims, sizeof(double), std::as_bytes(std::span(row_major)).data(),
                              runtime::strides_of(dims, runtime::Layout::kRowMajor),
                              std::as_writable_bytes(std::span(memory)).data(),
                              runtime::strides_of(dims, runtime::Layout::kChannelsLast));
      }
    const auto operations = operation_graph_of(graph, nodes, graph.outputs(), layouts);
    ASSERT_TRUE(operations.ok()) << text << operations.error().to_string();
    expect_same(values, graph.outputs()[0], text,
                [&](test::TensorValues& own) { test::run_operations(*operations, own); });
  }
}

/// A GELU in 16 bits may be computed by tanh.
TEST(LibraryForms, ReplaceGelusThatNobodyCanTellApart) {
  const core::Graph graph = soapstone::graph_of(
      "graph g\n  x: f16[4, 6]\n  w: f16[6, 8]\n  t = matmul(x, w)\n  y = gelu(t)\n  return y\n");
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  const auto region = make_region(graph, nodes, graph.outputs());
  ASSERT_TRUE(region.ok());
  const auto product = product_of(*region, {4, 8});
  ASSERT_TRUE(product.ok());
  const auto matrices = matrix_product_of(*region, *product);
  ASSERT_TRUE(matrices.ok()) << matrices.error().to_string();
  EXPECT_EQ(matrices->function, MatrixFunction::kGelu);
  test::TensorValues values = test::all_values(graph);
  const auto wanted = values.at(graph.outputs()[0]);
  test::run_product(*matrices, values);
  runtime::test::expect_close(values.at(graph.outputs()[0]), wanted, 1e-3, "gelu");
}

TEST(LibraryForms, OfExamplesAreWhatTheyMean) {
  Described all;
  for (const auto& example : ops::test::op_examples()) {
    if (example.result_count() != 1 || example.positive) continue;
    const core::Graph graph = soapstone::graph_of(example.graph_text());
    if (graph.order().size() != 1 || graph.is_constant_expression(graph.order()[0])) continue;
    const core::NodeId nodes[] = {graph.order()[0]};
    const Described found = check(graph, nodes, graph.outputs()[0], test::all_values(graph));
    all.operations += found.operations;
    all.products += found.products;
  }
  EXPECT_GT(all.operations, 20);
  EXPECT_GE(all.products, 3);
}

TEST(LibraryForms, OfNetworksAreWhatTheyMean) {
  Described all;
  for (const models::ModelBuilder& builder : models::builders()) {
    const auto graph = models::build_model(builder.name, models::small_sizes(builder));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    const test::TensorValues values = test::all_values(*graph);
    std::set<std::string> seen;
    for (const runtime::Launch& launch :
         runtime::plan_launches(*graph, runtime::generic_fusion(runtime::Fusion::kFull)).launches) {
      if (launch.outputs.size() != 1 ||
          !seen.insert(runtime::launch_signature(*graph, launch)).second)
        continue;
      const Described found = check(*graph, launch.nodes(), launch.outputs[0], values);
      all.operations += found.operations;
      all.products += found.products;
    }
  }
  EXPECT_GT(all.operations, 200);
  EXPECT_GT(all.products, 40);
}

}  // namespace
}  // namespace soapstone::gpu
