// Every axiom holds where it is evaluated, in doubles: on a dense grid around 0, at powers of two
// of all sizes, and next to the points where it is tight.
#include "verifier/orders/axioms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace soapstone::verifier {
namespace {

double number(const Fraction& value) {
  return static_cast<double>(value.numerator()) / static_cast<double>(value.denominator());
}

/// 0, ±2^-60 to ±2^9, ±k/64 up to 12, and numbers next to those at which slopes change.
std::vector<double> points() {
  std::vector<double> result{0};
  const auto add = [&](double x) {
    for (const double each : {x, std::nextafter(x, 1e9), std::nextafter(x, -1e9)}) {
      result.push_back(each);
      result.push_back(-each);
    }
  };
  for (int k = -60; k <= 9; ++k) add(std::ldexp(1.0, k));
  for (int k = 1; k <= 64 * 12; ++k) add(k / 64.0);
  for (int k = 1; k <= 10; ++k) add(k * 1.5707963267948966);
  add(0.5);
  add(708);
  return result;
}

/// The sum, and the largest of its parts, to which rounding is compared.
std::pair<double, double> value(const Axiom& axiom, double x) {
  const double f = ops::evaluate(axiom.function, std::vector<double>{x});
  double sum = 0, largest = 0;
  for (const Axiom::Part& part : axiom.parts) {
    const double each = number(part.coefficient) * std::pow(x, part.x) * std::pow(f, part.f) *
                        std::pow(std::exp(x), part.exp);
    sum += each;
    largest = std::max(largest, std::fabs(each));
  }
  return {sum, largest};
}

bool applies(const Axiom& axiom, double x) {
  return axiom.where == Where::kEverywhere ||
         (axiom.where == Where::kNonNegative ? x >= 0 : x <= 0);
}

std::string name_of(const Axiom& axiom) {
  return std::string(ops::properties(axiom.function).name) + ": " + std::string(axiom.reason);
}

TEST(Axioms, HoldOnADenseGrid) {
  constexpr double kRounding = 1e-13;
  for (const Axiom& axiom : axioms()) {
    int looked_at = 0;
    for (const double x : points()) {
      if (!applies(axiom, x)) continue;
      const auto [sum, largest] = value(axiom, x);
      if (!std::isfinite(sum) || !std::isfinite(largest)) continue;
      ++looked_at;
      EXPECT_GE(sum, -kRounding * largest) << name_of(axiom) << " at " << x;
    }
    EXPECT_GT(looked_at, 1000) << name_of(axiom);
  }
}

/// A law that could be had for all numbers is not restricted for nothing, and the test sees it
/// where a law is stated for too many.
TEST(Axioms, AreRestrictedWhereTheyDoNotHold) {
  for (const Axiom& axiom : axioms()) {
    if (axiom.where == Where::kEverywhere) continue;
    bool fails = false;
    for (const double x : points()) {
      const auto [sum, largest] = value(axiom, x);
      fails = fails || (!applies(axiom, x) && !(sum >= -1e-9 * largest));
    }
    EXPECT_TRUE(fails) << name_of(axiom);
  }
}

}  // namespace
}  // namespace soapstone::verifier
