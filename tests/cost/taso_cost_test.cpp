#include "cost/models/taso_cost.h"

#include <gtest/gtest.h>

#include "tests/support/graphs.h"

namespace soapstone::cost {
namespace {

double cost_of(const std::string& text) {
  return make_taso_cost()->graph_cost(graph_of(text)).total_us;
}

/// 5 us, flops and bytes.
double operator_us(double flops, double elements) {
  return 5 + flops / 15.7e6 + 4 * elements / 900e3;
}

TEST(TasoCost, AddsUpOperators) {
  EXPECT_NEAR(cost_of("graph g\n  x: f32[8, 16]\n  a: f32[16, 32]\n  y = matmul(x, a)\n"
                      "  z = relu(y)\n  return z\n"),
              operator_us(2 * 8 * 16 * 32, 8 * 16 + 16 * 32 + 8 * 32) + operator_us(256, 512),
              1e-5);
}

TEST(TasoCost, ChargesNothingForMovesAndConstants) {
  EXPECT_EQ(cost_of("graph g\n  x: f32[8, 16]\n  a: f32[16, 8]\n"
                    "  t = transpose(x; perm=[1, 0])\n  y, z = split(t; axis=0, sizes=[4, 12])\n"
                    "  return y, z\n"),
            0);
}

TEST(TasoCost, FusesReluIntoConvolutionsWithoutBiasThatNobodyElseReads) {
  const auto text = [](const char* operands, const char* results) {
    return std::string(
               "graph g\n  x: f32[1, 4, 8, 8]\n  w: f32[4, 4, 1, 1]\n  b: f32[4]\n  y = conv(") +
           operands + ")\n  z = relu(y)\n  return " + results + "\n";
  };
  const double conv = operator_us(2 * 256 * 4, 256 + 16 + 256), relu = operator_us(256, 512);
  EXPECT_NEAR(cost_of(text("x, w", "z")), conv, 1e-5);
  EXPECT_NEAR(cost_of(text("x, w", "z, y")), conv + relu, 1e-5);
  EXPECT_NEAR(cost_of(text("x, w, b", "z")), conv + relu, 1e-5);
}

}  // namespace
}  // namespace soapstone::cost
