// Chains of operators that one kernel computes, at sizes where lanes share rows and threads load
// several elements at once, for all that the text leaves open.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu/kernel_checks.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Group;
using runtime::generated::GroupingOptions;
using runtime::generated::KernelOptions;

struct Chain {
  const char* name;
  const char* text;
  std::ptrdiff_t launches = 1;
};

constexpr Chain kChains[] = {
    {"softmax", "x: f32[6, 320]\n  y = softmax(x; axis=1)\n  return y"},
    {"softmax_of_odd_rows", "x: f32[6, 37]\n  y = softmax(x; axis=1)\n  return y"},
    {"softmax_along_columns", "x: f32[2, 40, 6]\n  y = softmax(x; axis=1)\n  return y"},
    {"log_softmax", "x: f32[3, 100]\n  y = log_softmax(x; axis=1)\n  return y"},
    {"masked_softmax",
     "x: f32[2, 3, 8, 64]\n  m: f32[2, 1, 1, 64]\n  s: f32[]\n  a = mul(x, s)\n  b = add(a, m)\n"
     "  y = softmax(b; axis=3)\n  return y"},
    {"long_norm",
     "x: f32[2, 2304]\n  s: f32[2304]\n  b: f32[2304]\n  y = layer_norm(x, s, b; axis=1)\n"
     "  return y"},
    {"residual_norm",
     "x: f32[5, 96]\n  r: f32[5, 96]\n  b: f32[96]\n  s: f32[96]\n  t = add(x, b)\n"
     "  u = add(t, r)\n  y = layer_norm(u, s; axis=1)\n  return y, u"},
    {"rms_norm_and_scale",
     "x: f32[4, 3, 64]\n  s: f32[64]\n  y = rms_norm(x, s; axis=2)\n  z = mul(y, y)\n"
     "  return z"},
    {"gelu", "x: f32[7, 24]\n  b: f32[24]\n  t = add(x, b)\n  y = gelu(t)\n  return y"},
    {"mean_of_squares",
     "x: f32[6, 128]\n  t = mul(x, x)\n  y = reduce_mean(t; axes=[1])\n  z = sqrt(y)\n"
     "  return z"},
    {"sum_over_rows", "x: f32[100, 8]\n  y = reduce_sum(x; axes=[0])\n  return y"},
    {"sum_of_all", "x: f32[4, 600]\n  y = reduce_sum(x; axes=[0, 1])\n  return y"},
    {"pool", "x: f32[2, 3, 7, 7]\n  t = relu(x)\n  y = global_average_pool(t)\n  return y"},
    {"split_heads",
     "x: f32[2, 8, 24]\n  b: f32[24]\n  t = add(x, b)\n  u = reshape(t; shape=[2, 8, 3, 8])\n"
     "  y = transpose(u; perm=[0, 2, 1, 3])\n  return y"},
    {"rotated",
     "x: f32[3, 4, 16]\n  c: f32[4, 16]\n  l = slice(x; axes=[2], starts=[0], sizes=[8], "
     "steps=[1])\n  h = slice(x; axes=[2], starts=[8], sizes=[8], steps=[1])\n  n = neg(h)\n"
     "  t = concat(n, l; axis=2)\n  y = mul(t, c)\n  return y"},
    {"embedding",
     "w: f32[11, 64]\n  i: i64[5]\n  p: f32[5, 64]\n  s: f32[64]\n  t = gather(w, i; axis=0)\n"
     "  u = add(t, p)\n  y = layer_norm(u, s; axis=1)\n  return y"},
    {"padded", "x: f32[3, 5]\n  t = relu(x)\n  y = pad(t; pads=[0, 1, 0, 2], value=1.5)\n"
               "  return y"},
    {"siblings", "x: f32[4, 16]\n  z: f32[4, 16]\n  a = relu(x)\n  b = neg(z)\n  return a, b"},
    {"around_a_product",
     "x: f32[4, 8]\n  w: f32[8, 8]\n  a = relu(x)\n  b = matmul(a, w)\n  c = add(a, b)\n"
     "  return c",
     2},
};

struct Form {
  core::DataType type;
  KernelOptions options;
};

std::string name_of(const Form& form) {
  return std::string(core::to_string(form.type)) + "_" + std::to_string(form.options.threads) +
         "_" + std::to_string(form.options.lanes) + "_" + std::to_string(form.options.width);
}

class Chains : public ::testing::TestWithParam<Form> {};

TEST_P(Chains, AreOneKernel) {
  test::HostKernels library;
  std::vector<test::KernelGraph> all;
  GroupingOptions options;
  options.kernel = GetParam().options;
  for (const Chain& chain : kChains) {
    const std::string text = std::string("graph ") + chain.name + "\n  " + chain.text + "\n";
    all.emplace_back(test::graph_over(text, GetParam().type), library, options);
    const auto& groups = all.back().groups();
    const auto launches = std::count_if(groups.begin(), groups.end(), [](const Group& group) {
      return group.kind != Group::Kind::kView;
    });
    EXPECT_EQ(launches, chain.launches) << text;
  }
  ASSERT_EQ(library.compile(), "");
  for (const auto& graph : all) expect_right(graph, library, test::tolerance_of(GetParam().type));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Chains,
    ::testing::Values(Form{core::DataType::kFloat32, {}}, Form{core::DataType::kFloat16, {}},
                      Form{core::DataType::kBFloat16, {}},
                      Form{core::DataType::kFloat32, {.threads = 64, .lanes = 64, .width = 2}},
                      Form{core::DataType::kFloat32, {.threads = 128, .lanes = 32, .width = 1}},
                      Form{core::DataType::kFloat32, {.threads = 32, .lanes = 1, .width = 1}}),
    [](const auto& form) { return name_of(form.param); });

}  // namespace
}  // namespace soapstone::gpu
