// Every listed property of every function holds where it is evaluated, in doubles and, as far as
// the field can, there.
#include "ops/language/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/evaluation/field.h"

namespace soapstone::ops {
namespace {

std::vector<Function> all_functions() {
  std::vector<Function> list;
  for (int k = 0; k <= static_cast<int>(Function::kIsInfinite); ++k)
    list.push_back(static_cast<Function>(k));
  return list;
}

double at(Function f, double x) { return evaluate(f, std::vector<double>{x}); }

TEST(Functions, NamesAreUniqueAndParse) {
  for (Function f : all_functions()) {
    EXPECT_EQ(parse_function(properties(f).name), f);
    EXPECT_GE(properties(f).arity, 1);
  }
  EXPECT_FALSE(parse_function("relu6"));
}

TEST(Functions, PropertiesHoldInDoubles) {
  const std::vector<double> points{-3.5, -2, -1.5, -0.5, 0, 0.25, 0.5, 1, 1.5, 2.5, 4};
  for (Function f : all_functions()) {
    const FunctionProperties& p = properties(f);
    if (p.arity != 1) continue;
    if (p.zero_preserving) {
      EXPECT_EQ(at(f, 0), 0) << p.name;
    }
    for (double x : points) {
      if (std::isnan(at(f, x)) || std::isinf(at(f, x))) continue;
      if (p.odd) {
        EXPECT_EQ(at(f, -x), -at(f, x)) << p.name << x;
      }
      if (p.even) {
        EXPECT_EQ(at(f, -x), at(f, x)) << p.name << x;
      }
      if (p.non_negative) {
        EXPECT_GE(at(f, x), 0) << p.name << x;
      }
      if (p.idempotent) {
        EXPECT_EQ(at(f, at(f, x)), at(f, x)) << p.name << x;
      }
      if (p.positive) {
        EXPECT_GT(at(f, x), 0) << p.name << x;
      }
      if (p.integral) {
        EXPECT_EQ(at(f, x), std::nearbyint(at(f, x))) << p.name << x;
      }
      if (p.zero_only_at_zero && x != 0) {
        EXPECT_NE(at(f, x), 0) << p.name << x;
      }
      if (p.positively_homogeneous) {
        EXPECT_EQ(at(f, 4 * x), 4 * at(f, x)) << p.name << x;
      }
      for (double y : points)
        if (p.monotone && x <= y) {
          EXPECT_LE(at(f, x), at(f, y)) << p.name << x << y;
        }
    }
  }
}

TEST(Functions, PropertiesHoldInTheField) {
  for (std::uint64_t k = 1; k < 200; ++k) {
    const field::Value x = field::fold(k * 0x9e3779b97f4a7c15u);
    for (Function f : all_functions()) {
      const FunctionProperties& p = properties(f);
      if (p.arity != 1) continue;
      const auto value = [&](field::Value v) { return field::apply(f, &v, 17); };
      EXPECT_LT(value(x), field::kPrime);
      if (p.zero_preserving) {
        EXPECT_EQ(value(0), 0u) << p.name;
      }
      if (p.odd) {
        EXPECT_EQ(value(field::negate(x)), field::negate(value(x))) << p.name;
      }
      if (p.even) {
        EXPECT_EQ(value(field::negate(x)), value(x)) << p.name;
      }
      if (p.non_negative) {
        EXPECT_FALSE(field::is_negative(value(x))) << p.name;
      }
      if (p.idempotent) {
        EXPECT_EQ(value(value(x)), value(x)) << p.name;
      }
    }
  }
}

TEST(Functions, ValuesThatAreEasyToGetWrong) {
  EXPECT_EQ(at(Function::kRound, 2.5), 2);
  EXPECT_EQ(at(Function::kRound, -1.5), -2);
  EXPECT_EQ(at(Function::kTruncate, -1.5), -1);
  EXPECT_EQ(at(Function::kFloor, -1.5), -2);
  EXPECT_TRUE(std::isnan(at(Function::kRelu, std::nan(""))));
  EXPECT_EQ(evaluate(Function::kPow, std::vector<double>{2, 3}), 8);
  EXPECT_EQ(evaluate(Function::kSelect, std::vector<double>{0, 3, 4}), 4);
  EXPECT_EQ(evaluate(Function::kLess, std::vector<double>{3, 3}), 0);
  EXPECT_EQ(evaluate(Function::kLessOrEqual, std::vector<double>{3, 3}), 1);
  EXPECT_EQ(evaluate(Function::kLessOrEqual, std::vector<double>{std::nan(""), 3}), 0);
  EXPECT_EQ(at(Function::kLog1p, 1e-20), 1e-20);
  EXPECT_EQ(at(Function::kIsNan, std::nan("")), 1);
  EXPECT_EQ(at(Function::kIsNan, HUGE_VAL), 0);
  EXPECT_EQ(at(Function::kIsInfinite, -HUGE_VAL), 1);
  EXPECT_EQ(at(Function::kIsInfinite, std::nan("")), 0);
}

}  // namespace
}  // namespace soapstone::ops
