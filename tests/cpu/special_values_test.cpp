// Every function that launches take in, on NaN, infinities, zeros and the ends of the range: fused
// or not, behind every kind of contraction, the result is that of the comprehension.
#include <array>
#include <limits>

#include "cpu/primitives/epilogue.h"
#include "tests/cpu/cpu_test.h"

namespace soapstone::cpu::test {
namespace {

using runtime::Fusion;
using runtime::test::parse;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();

const std::vector<float> kSpecialValues = {kNan,  kInf,  -kInf,  0.0F,   -0.0F, 1.0F,
                                           -1.0F, 0.5F,  -2.5,   7.0F,   -7.0F, 100.F,
                                           -100., 1e30F, -1e30F, 1e-40F, kMost, -kMost};

/// f(x) as a call with `%` for x, or two of them: a gate.
const std::vector<std::string> kSpecialFunctions = {
    "relu(%)",
    "clip(%; min=0.0, max=6.0)",
    "clip(%; min=-0.5)",
    "clip(%; max=0.5)",
    "leaky_relu(%; alpha=0.25)",
    "elu(%; alpha=0.25)",
    "sigmoid(%)",
    "tanh(%)",
    "hard_swish(%)",
    "hard_sigmoid(%; alpha=0.25, beta=0.5)",
    "gelu(%)",
    "gelu(%; approximate=\"tanh\")",
    "abs(%)",
    "sqrt(%)",
    "exp(%)",
    "neg(%)",
    "max(%, zero)",
    "min(%, zero)",
    "max(zero, %)",
    "mul(%, sigmoid)",
    "mul(%, hard_sigmoid)",
};

std::string call_behind(std::string call, const std::string& x) {
  std::string before;
  for (const std::string gate : {"sigmoid", "hard_sigmoid"}) {
    if (call != "mul(%, " + gate + ")") continue;
    before = "  f = " + gate + "(" + x + ")\n";
    call = "mul(%, f)";
  }
  call.replace(call.find('%'), 1, x);
  return before + "  z = " + call + "\n";
}

/// Products by the identity: the values are what the function meets.
struct ProductByOne {
  const char* name;
  const char* inputs;
  const char* call;
};
constexpr std::array<ProductByOne, 6> kContractions = {{
    {"matmul", "x: f32[18, 1]\n  w: f32[1, 20]", "matmul(x, w)"},
    {"batch of products", "x: f32[2, 9, 1]\n  w: f32[2, 1, 20]", "matmul(x, w)"},
    {"einsum", "x: f32[2, 9, 1]\n  w: f32[2, 1, 20]", "einsum(x, w; equation=\"abc,acd->abd\")"},
    {"unpacked einsum", "x: f32[9, 2, 1]\n  w: f32[1, 20]",
     "einsum(x, w; equation=\"abc,cd->adb\")"},
    {"convolution", "x: f32[1, 1, 3, 6]\n  w: f32[20, 1, 1, 1]", "conv(x, w)"},
    {"transposed convolution", "x: f32[1, 1, 3, 6]\n  w: f32[1, 20, 1, 1]", "conv_transpose(x, w)"},
}};

void expect_same_special(const std::vector<double>& actual, const std::vector<double>& wanted,
                         const std::string& what) {
  ASSERT_EQ(actual.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << what << ": " << actual[i] << " instead of NaN";
    } else if (std::fabs(wanted[i]) > kMost) {
      EXPECT_EQ(actual[i] < 0, wanted[i] < 0) << what;
      EXPECT_TRUE(std::isinf(actual[i])) << what << ": " << actual[i] << " instead of infinity";
    } else {
      EXPECT_NEAR(actual[i], wanted[i], 1e-5 * std::max(1.0, std::fabs(wanted[i]))) << what;
    }
  }
}

void check_on_special_values(const std::string& body, runtime::Backend& backend) {
  const core::Graph graph = parse(body);
  std::vector<core::Literal> inputs;
  for (const core::TensorId input : graph.inputs()) {
    const core::Dims dims = runtime::dims_of(graph.tensor(input).type);
    const auto count = static_cast<std::size_t>(core::element_count(dims));
    std::vector<float> values(count, 1.0F);
    if (graph.tensor(input).name == "x") values = kSpecialValues;
    if (graph.tensor(input).name == "zero") values.assign(count, 0.0F);
    inputs.push_back(core::Literal::floats(dims, values));
  }
  const auto wanted = runtime::test::expected(graph, inputs);
  for (const Fusion fusion :
       {Fusion::kNone, Fusion::kActivation, Fusion::kFull, Fusion::kGenerated}) {
    runtime::Executable program = runtime::test::executable(graph, backend, fusion);
    for (int run = 0; run < 2; ++run) {
      const auto outputs = program.run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
      expect_same_special((*outputs)[0].to_doubles(), wanted[0],
                          body + std::string(to_string(fusion)) + " fusion");
    }
  }
}

void check_special_values(runtime::Backend& backend) {
  for (const ProductByOne& head : kContractions)
    for (const std::string& function : kSpecialFunctions) {
      SCOPED_TRACE(std::string(head.name) + ", " + function);
      const std::string inputs =
          "\n  " + std::string(head.inputs) + "\n  zero: f32[]\n  y = " + head.call + "\n";
      check_on_special_values(inputs + call_behind(function, "y") + "  return z\n", backend);
    }
}

TEST(SpecialValues, EveryFunctionKeepsThem) { check_special_values(backend()); }

TEST(SpecialValues, EveryFunctionKeepsThemWithTwoThreads) {
  const auto threaded = make_cpu_backend({.threads = 2});
  ASSERT_TRUE(threaded.ok());
  check_special_values(**threaded);
}

/// The list above has every function that fusion knows.
TEST(SpecialValues, NoFunctionIsLeftOut) {
  std::size_t known = 0;
  for (const auto& op : ops::registry().all()) {
    if (!epilogue_level(op->name)) continue;
    ++known;
    EXPECT_TRUE(std::ranges::any_of(kSpecialFunctions, [&](const std::string& call) {
      return call.starts_with(op->name + "(");
    })) << op->name;
  }
  EXPECT_GE(known, 8U);
}

/// What is added in place is no longer there when NaN is noticed.
TEST(SpecialValues, NanBehindAResidualIsKept) {
  const core::Graph graph = parse(R"(
  x: f32[18, 1]
  w: f32[1, 20]
  r: f32[18, 20]
  p = neg(r)
  y = matmul(x, w)
  s = add(y, p)
  z = relu(s)
  return z
)");
  runtime::Executable program = runtime::test::executable(graph, backend(), Fusion::kFull);
  const std::vector<float> ones(20, 1.0F);
  for (const float of_product : {1.0F, kNan, kInf, -kInf}) {
    for (const float of_residual : {1.0F, kNan, kInf, -kInf}) {
      std::vector<float> x(18, 1.0F), r(360, 0.5F);
      x[3] = of_product;
      r[3 * 20 + 5] = of_residual;
      const std::vector<core::Literal> inputs = {core::Literal::floats({18, 1}, x),
                                                 core::Literal::floats({1, 20}, ones),
                                                 core::Literal::floats({18, 20}, r)};
      const auto outputs = program.run(inputs);
      ASSERT_TRUE(outputs.ok());
      expect_same_special((*outputs)[0].to_doubles(), runtime::test::expected(graph, inputs)[0],
                          std::to_string(of_product) + " and " + std::to_string(of_residual));
    }
  }
}

/// Numbers alone, also the largest, are run once: no function marks them.
TEST(SpecialValues, NumbersAreNotTakenForNan) {
  const core::Graph graph = parse(R"(
  x: f32[18, 1]
  w: f32[1, 20]
  y = matmul(x, w)
  z = relu(y)
  return z
)");
  const auto plan = runtime::plan_execution(graph, backend(), Fusion::kFull);
  ASSERT_EQ(plan.launches.size(), 1U);
  const auto kernel = backend().compile(graph, plan.launches[0], plan.layouts[0], {}, nullptr);
  ASSERT_TRUE(kernel.ok());
  const auto queue = backend().make_queue();
  ASSERT_TRUE(queue.ok());
  std::vector<float> x = kSpecialValues, w(20, 1.0F), z(360);
  const auto lost_with = [&] {
    const auto address = [](std::vector<float>& values) {
      return runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data()));
    };
    std::vector<float> scratch((*kernel)->scratch_bytes() / sizeof(float) + 1);
    const runtime::KernelCall call{.kernel = kernel->get(),
                                   .inputs = {address(x), address(w)},
                                   .outputs = {address(z)},
                                   .scratch = address(scratch)};
    (*queue)->enqueue(std::span(&call, 1));
    EXPECT_TRUE((*queue)->wait().ok());
    return (*kernel)->may_have_lost_nan();
  };
  EXPECT_TRUE(lost_with());
  std::ranges::replace_if(
      x, [](float value) { return !std::isfinite(value); }, 2.0F);
  EXPECT_FALSE(lost_with());
}

}  // namespace
}  // namespace soapstone::cpu::test
