// Kernels of gradients, against the adjoints of comprehensions.
#include "ops/gradients/append_gradient.h"
#include "runtime/launches/node_kernel.h"
#include "tests/cpu/sketch.h"

namespace soapstone::cpu::test {
namespace {

using core::TensorId;
using runtime::Fusion;
using runtime::test::parse;

/// The gradients of the last node's result by its inputs of floating-point elements, of which each
/// is `behind`'s operand if there is one: a step that may run in the same kernel.
core::Graph gradients_of(const std::string& forward, const char* behind = nullptr) {
  const core::Graph graph = parse(forward + "\n  return y\n");
  core::GraphBuilder builder(graph);
  const TensorId result = graph.outputs()[0];
  const core::Node node = graph.node(graph.tensor(result).producer);
  const TensorId cotangent = builder.add_input("slope", graph.tensor(result).type);
  std::vector<TensorId> gradients;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const core::TensorType type = graph.tensor(node.inputs[k]).type;
    if (!core::is_floating(type.data_type)) continue;
    TensorId gradient = ops::append_gradient(builder, node, k, std::span(&cotangent, 1));
    if (behind) {
      const TensorId other = builder.add_input("r" + std::to_string(k), type);
      gradient = (*ops::append(builder, behind, {gradient, other}))[0];
    }
    gradients.push_back(gradient);
  }
  builder.set_outputs(gradients);
  return *std::move(builder).finish();
}

/// Right at all levels of fusion; gradient operators run by kernels of their own.
void expect_kernels(const core::Graph& graph) {
  SCOPED_TRACE(core::print(graph));
  for (const Fusion fusion : {Fusion::kNone, Fusion::kFull})
    runtime::test::expect_right(graph, backend(), fusion, 1e-4);
  std::size_t gradients = 0;
  for (const core::NodeId id : graph.order()) {
    if (!graph.node(id).op->name.ends_with("_grad")) continue;
    ++gradients;
    const auto implementation = runtime::implementation_of(graph, id, backend());
    ASSERT_TRUE(implementation.ok());
    EXPECT_NE(*implementation, "reference") << graph.node(id).op->name;
  }
  EXPECT_GT(gradients, 0U);
}

TEST(Gradients, OfConvolutions) {
  for (const char* attributes :
       {"", "pads=[1, 1, 1, 1]", "strides=[2, 2]", "strides=[2, 1], pads=[0, 1, 1, 2]",
        "dilations=[2, 2], pads=[2, 2, 2, 2]"}) {
    const std::string rest = *attributes == 0 ? ")" : "; " + std::string(attributes) + ")";
    expect_kernels(
        gradients_of("\n  x: f32[2, 3, 9, 8]\n  w: f32[5, 3, 3, 3]\n  y = conv(x, w" + rest));
  }
  expect_kernels(
      gradients_of("\n  x: f32[2, 6, 7, 7]\n  w: f32[9, 2, 3, 3]\n  y = conv(x, w; group=3)"));
  expect_kernels(
      gradients_of("\n  x: f32[2, 6, 7, 7]\n  w: f32[6, 1, 3, 3]\n  y = conv(x, w; group=6, "
                   "pads=[1, 1, 1, 1])"));
  expect_kernels(gradients_of("\n  x: f32[2, 16, 5, 5]\n  w: f32[32, 16, 1, 1]\n  y = conv(x, w)"));
  expect_kernels(gradients_of("\n  x: f32[1, 3, 11]\n  w: f32[4, 3, 5]\n  y = conv(x, w; "
                              "strides=[2], dilations=[1], pads=[2, 2])"));
}

// oneDNN 2.6.3 writes behind its scratch memory here, which a sanitizer or a checked heap shows.
TEST(Gradients, OfFewChannelsEveryOtherPixel) {
  for (const char* sizes : {"x: f32[1, 8, 64, 64]\n  w: f32[5, 8, 1, 1]",
                            "x: f32[2, 11, 32, 64]\n  w: f32[16, 11, 1, 1]"})
    expect_kernels(
        gradients_of("\n  " + std::string(sizes) + "\n  y = conv(x, w; strides=[2, 2])"));
}

TEST(Gradients, OfPooling) {
  // Many elements of an image behind a relu are equal: their windows share.
  for (const char* pool :
       {"max_pool(u; kernel=[2, 2], strides=[2, 2])",
        "max_pool(u; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])",
        "max_pool(u; kernel=[3, 2], strides=[1, 2], pads=[1, 0, 1, 1], dilations=[2, 1])",
        "average_pool(u; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])",
        "average_pool(u; kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)",
        "average_pool(u; kernel=[3, 3], strides=[2, 2], ceil_mode=1)"}) {
    SCOPED_TRACE(pool);
    expect_kernels(
        gradients_of("\n  x: f32[2, 5, 8, 7]\n  u = relu(x)\n  y = " + std::string(pool)));
  }
}

TEST(Gradients, OfMatricesWithASumBehind) {
  for (const char* behind : {static_cast<const char*>(nullptr), "add", "mul"}) {
    expect_kernels(gradients_of("\n  a: f32[3, 4]\n  b: f32[4, 5]\n  y = matmul(a, b)", behind));
    expect_kernels(gradients_of("\n  a: f32[2, 3, 4]\n  b: f32[4, 5]\n  y = matmul(a, b)", behind));
    expect_kernels(
        gradients_of("\n  a: f32[2, 3, 4]\n  b: f32[2, 4, 5]\n  y = matmul(a, b)", behind));
  }
}

TEST(Gradients, OfLookUps) {
  expect_kernels(gradients_of("\n  t: f32[7, 3]\n  i: i64[2, 5]\n  y = gather(t, i; axis=0)"));
  expect_kernels(gradients_of("\n  t: f32[4, 6, 3]\n  i: i32[5]\n  y = gather(t, i; axis=1)"));
}

TEST(Gradients, OfMatricesThatAreRepeatedHaveNoKernel) {
  const core::Graph graph = gradients_of("\n  a: f32[3, 4]\n  b: f32[2, 4, 5]\n  y = matmul(a, b)");
  runtime::test::expect_right(graph, backend(), Fusion::kFull, 1e-4);
}

}  // namespace
}  // namespace soapstone::cpu::test
