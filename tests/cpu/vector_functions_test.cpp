// The vector loops against the C library, over the whole range of floats and at its ends.
#include "cpu/base/vector_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace soapstone::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Function {
  std::string op;
  std::function<double(double)> value;
  double relative = 0, absolute = 0;  ///< Admitted error: the larger of both.
};

double erf_gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

std::vector<Function> functions() {
  return {
      {"exp", [](double x) { return std::exp(x); }, 3e-7, 1e-45},
      {"log", [](double x) { return std::log(x); }, 3e-7, 3e-7},
      {"tanh", [](double x) { return std::tanh(x); }, 5e-7, 0},
      {"erf", [](double x) { return std::erf(x); }, 5e-7, 1e-43},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 5e-7, 1e-38},
      {"gelu", erf_gelu, 5e-7, 2e-6},
      {"hard_swish", [](double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }, 5e-7,
       1e-6},
      {"sqrt", [](double x) { return std::sqrt(x); }, 1e-7, 0},
      {"floor", [](double x) { return std::floor(x); }, 0, 0},
      {"ceil", [](double x) { return std::ceil(x); }, 0, 0},
      {"round", [](double x) { return std::nearbyint(x); }, 0, 0},
      {"reciprocal", [](double x) { return 1 / x; }, 1e-7, 0},
      {"not", [](double x) { return x == 0; }, 0, 0},
  };
}

std::vector<float> arguments() {
  std::vector<float> x = {0,     -0.0f, 1,    -1,     0.5f,  -0.5f,  2.5f, 1e-20f, -1e-20f, 88,
                          88.7f, -87,   -100, 1e-40f, 1e30f, -1e30f, 8,    -8,     3.999f,  4.001f};
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  for (int i = 0; i < 20000; ++i) x.push_back(normal(random));
  return x;
}

TEST(VectorFunctions, AreAsExactAsPromised) {
  const std::vector<float> x = arguments();
  std::vector<float> y(x.size());
  for (const Function& function : functions()) {
    const auto loop = unary_loop<float>(function.op);
    ASSERT_NE(loop, nullptr) << function.op;
    loop(x.data(), y.data(), x.size(), 0, 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double wanted = function.value(x[i]);
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(y[i])) << function.op << "(" << x[i] << ") = " << y[i];
      } else if (std::fabs(wanted) > std::numeric_limits<float>::max()) {
        EXPECT_TRUE(std::isinf(y[i])) << function.op << "(" << x[i] << ") = " << y[i];
      } else {
        const double error = std::fabs(y[i] - wanted);
        EXPECT_LE(error, std::fmax(function.absolute, function.relative * std::fabs(wanted)))
            << function.op << "(" << x[i] << ") = " << y[i] << ", not " << wanted;
      }
    }
  }
}

TEST(VectorFunctions, KeepInfinitiesAndNaN) {
  const std::vector<float> x = {kInfinity, -kInfinity, std::nanf("")};
  const auto values = [&](const char* op) {
    std::vector<float> y(3);
    unary_loop<float>(op)(x.data(), y.data(), 3, 0, 0);
    return y;
  };
  EXPECT_EQ(values("exp")[0], kInfinity);
  EXPECT_EQ(values("exp")[1], 0);
  EXPECT_EQ(values("log")[0], kInfinity);
  EXPECT_EQ(values("tanh")[0], 1);
  EXPECT_EQ(values("erf")[1], -1);
  EXPECT_EQ(values("sigmoid")[1], 0);
  EXPECT_EQ(values("sigmoid")[0], 1);
  for (const char* op : {"exp", "log", "tanh", "erf", "sigmoid", "relu", "sqrt"})
    EXPECT_TRUE(std::isnan(values(op)[2])) << op;
}

TEST(VectorFunctions, UnknownOperatorsHaveNoLoop) {
  EXPECT_EQ(unary_loop<float>("conv"), nullptr);
  EXPECT_EQ(binary_loop<float>("relu"), nullptr);
  EXPECT_EQ(binary_loop<std::int64_t>("div"), nullptr);
}

TEST(VectorFunctions, IntegersWrapAround) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), one = 1;
  std::int64_t sum = 0;
  binary_loop<std::int64_t>("add")(&most, &one, &sum, 1);
  EXPECT_EQ(sum, std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace soapstone::cpu
