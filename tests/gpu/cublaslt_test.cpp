// Descriptors of cuBLASLt without a device, and what a library makes of them that multiplies on the
// host.
#include <gtest/gtest.h>

#include "gpu/libraries/cublaslt_matmul.h"
#include "tests/gpu/fake_libraries.h"
#include "tests/runtime/runtime_test.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;

MatrixProduct matrices_of(const core::Graph& graph) {
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  const auto region = make_region(graph, nodes, graph.outputs());
  EXPECT_TRUE(region.ok());
  const auto product = product_of(*region, runtime::dims_of(graph.tensor(graph.outputs()[0]).type));
  EXPECT_TRUE(product.ok()) << (product ? "" : product.error().to_string());
  const auto matrices = matrix_product_of(*region, *product);
  EXPECT_TRUE(matrices.ok()) << (matrices ? "" : matrices.error().to_string());
  return *matrices;
}

constexpr const char* kProducts[] = {
    "x: f32[4, 6]\n  w: f32[6, 8]\n  y = matmul(x, w)\n  return y",
    "x: f32[4, 6]\n  w: f32[6, 8]\n  b: f32[8]\n  t = matmul(x, w)\n  a = add(t, b)\n"
    "  y = relu(a)\n  return y",
    "x: f32[3, 4, 6]\n  w: f32[3, 5, 6]\n  r: f32[3, 4, 5]\n"
    "  u = transpose(w; perm=[0, 2, 1])\n  t = matmul(x, u)\n  y = sub(t, r)\n  return y",
    "x: f32[6, 4]\n  w: f32[8, 6]\n  a = transpose(x; perm=[1, 0])\n"
    "  b = transpose(w; perm=[1, 0])\n  y = matmul(a, b)\n  return y",
    "x: f32[2, 5, 6]\n  w: f32[6, 8]\n  k = full(; shape=[], value=0.25)\n  t = matmul(x, w)\n"
    "  y = mul(t, k)\n  return y",
    "x: f32[2, 3, 5, 4]\n  w: f32[2, 3, 4, 6]\n  r: f32[2, 5, 3, 6]\n  t = matmul(x, w)\n"
    "  u = transpose(t; perm=[0, 2, 1, 3])\n  y = add(u, r)\n  return y",
    "x: f32[1, 6]\n  w: f32[6, 8]\n  y = matmul(x, w)\n  return y",
    "x: f32[4, 6]\n  w: f32[6, 1]\n  y = matmul(x, w)\n  return y",
};

TEST(CublasLt, MakesDescriptors) {
  const auto library = load_cublaslt();
  if (!library) GTEST_SKIP() << library.error().to_string();
  for (const char* text : kProducts)
    for (const FloatMath math : {FloatMath::kExact, FloatMath::kTensorFloat32}) {
      const auto graph = soapstone::graph_of(std::string("graph g\n  ") + text + "\n");
      const auto made = CublasLtMatmul::make(*library, matrices_of(graph), math);
      EXPECT_TRUE(made.ok()) << text << (made ? "" : made.error().to_string());
    }
}

TEST(CublasLt, IsNotThere) {
  for (const char* name : {"libcublaslt_that_nobody_has.so", "libm.so.6"}) {
    const auto none = load_cublaslt(name);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, core::ErrorCode::kUnavailable);
  }
}

/// Makes the product and runs it on random values; compares with what the graph means.
core::Status multiply(test::FakeCublasLt& fake, const char* text) {
  const auto graph = soapstone::graph_of(std::string("graph g\n  ") + text + "\n");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const auto matmul,
      CublasLtMatmul::make(fake.library(), matrices_of(graph), FloatMath::kExact));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto algorithms, matmul.algorithms(nullptr, 1 << 20, 8));
  EXPECT_EQ(algorithms.size(), 2u);
  const auto inputs = runtime::random_inputs(graph, 1);
  const auto wanted = runtime::test::expected(graph, inputs);
  const auto data = [&](const StridedMatrix& m) -> const void* {
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (graph.inputs()[k] == m.id) return inputs[k].as<float>().data() + m.offset;
    return nullptr;
  };
  const MatrixProduct& p = matmul.product();
  std::vector<float> result(wanted[0].size());
  SOAPSTONE_RETURN_IF_ERROR(
      matmul.run(nullptr, nullptr, algorithms[1],
                 {data(p.left), data(p.right), p.addend ? data(*p.addend) : nullptr,
                  p.bias ? data(*p.bias) : nullptr, result.data(), nullptr}));
  runtime::test::expect_close({result.begin(), result.end()}, wanted[0], 1e-5, text);
  return core::Done{};
}

TEST(CublasLt, MultipliesAsOperatorsMean) {
  for (const char* text : kProducts) {
    test::FakeCublasLt fake;
    const core::Status status = multiply(fake, text);
    EXPECT_TRUE(status.ok()) << text << (status ? "" : status.error().to_string());
    EXPECT_GE(fake.products(), 1);
    EXPECT_EQ(fake.alive(), 0u);
  }
}

TEST(CublasLt, LosesNothingWhicheverCallFails) {
  test::FakeCublasLt whole;
  ASSERT_TRUE(multiply(whole, kProducts[1]).ok());
  for (int k = 0; k < whole.calls(); ++k) {
    test::FakeCublasLt fake(k);
    const core::Status status = multiply(fake, kProducts[1]);
    EXPECT_EQ(fake.alive(), 0u) << "call " << k;
    ASSERT_FALSE(status.ok()) << "call " << k;
    EXPECT_EQ(status.error().code, core::ErrorCode::kUnavailable);
    EXPECT_NE(status.error().message.find("14 (A_TEST)"), std::string::npos);
  }
}

}  // namespace
}  // namespace soapstone::gpu
