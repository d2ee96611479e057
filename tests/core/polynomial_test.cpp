// Polynomials: ring laws by evaluation at random points, canonical form, order, text.
#include "core/graph/polynomial.h"

#include <gtest/gtest.h>

#include <random>

namespace soapstone::core {
namespace {

class PolynomialTest : public testing::Test {
 protected:
  Polynomial random_polynomial() {
    Polynomial sum = number();
    for (int terms = pick(0, 4); terms > 0; --terms) {
      Polynomial product = number();
      for (int factors = pick(1, 3); factors > 0; --factors) product *= symbol();
      sum += product;
    }
    return sum;
  }
  std::int64_t at(const Polynomial& p) const {
    return p.evaluate([&](Symbol s) { return point_[s.id]; });
  }
  void new_point() {
    for (auto& value : point_) value = pick(-9, 9);
  }
  Symbol symbol() { return Symbol{static_cast<std::uint32_t>(pick(0, 3))}; }
  int number() { return pick(-5, 5); }
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  std::mt19937_64 random_{7};
  std::vector<std::int64_t> point_ = std::vector<std::int64_t>(4);
};

TEST_F(PolynomialTest, ArithmeticAgreesWithEvaluation) {
  for (int round = 0; round < 2000; ++round) {
    const Polynomial a = random_polynomial(), b = random_polynomial();
    new_point();
    EXPECT_EQ(at(a + b), at(a) + at(b));
    EXPECT_EQ(at(a - b), at(a) - at(b));
    EXPECT_EQ(at(a * b), at(a) * at(b));
    EXPECT_EQ(at(-a), -at(a));
  }
}

TEST_F(PolynomialTest, EqualValuesHaveOneForm) {
  for (int round = 0; round < 500; ++round) {
    const Polynomial a = random_polynomial(), b = random_polynomial(), c = random_polynomial();
    EXPECT_EQ((a + b) * c, c * b + a * c);
    EXPECT_EQ((a + b + c).hash(), (c + a + b).hash());
    EXPECT_TRUE((a - a).is_constant());
    EXPECT_EQ(a - a, Polynomial(0));
  }
}

TEST_F(PolynomialTest, OrderIsTotalAndAgreesWithEquality) {
  for (int round = 0; round < 500; ++round) {
    const Polynomial a = random_polynomial(), b = random_polynomial(), c = random_polynomial();
    EXPECT_EQ((a <=> b) == 0, a == b);
    EXPECT_EQ(a<b, b> a);
    EXPECT_TRUE(!(a < b && b < c) || a < c);
  }
}

TEST_F(PolynomialTest, SubstitutionAgreesWithEvaluation) {
  for (int round = 0; round < 500; ++round) {
    const Polynomial a = random_polynomial(), b = random_polynomial();
    const Symbol replaced = symbol();
    new_point();
    const Polynomial after = a.substitute([&](Symbol s) -> std::optional<Polynomial> {
      if (s == replaced) return b;
      return std::nullopt;
    });
    const std::int64_t value = at(b), actual = at(after);
    point_[replaced.id] = value;
    EXPECT_EQ(actual, at(a));
  }
}

TEST_F(PolynomialTest, PartsCanBeRead) {
  const Symbol n{0}, m{1};
  const Polynomial p = Polynomial(3) * n * m - Polynomial(2) * n + 7;
  EXPECT_EQ(p.constant(), 7);
  EXPECT_EQ(p.coefficient(n), -2);
  EXPECT_EQ(p.coefficient(m), 0);
  EXPECT_TRUE(p.mentions(m));
  EXPECT_FALSE(p.mentions(Symbol{2}));
  EXPECT_EQ(p.symbols(), (std::vector{n, m}));
  EXPECT_EQ(p.terms().size(), 2u);
  EXPECT_EQ(p.as_constant(), std::nullopt);
  EXPECT_EQ((p - p + 4).as_constant(), 4);
}

TEST_F(PolynomialTest, PrintsAsWritten) {
  SymbolTable names;
  const Polynomial n = names.intern("n"), m = names.intern("m"), p = names.intern("p");
  EXPECT_EQ((2 * n * m + p - 1).to_string(names), "2*n*m + p - 1");
  EXPECT_EQ((Polynomial(1) - n).to_string(names), "-n + 1");
  EXPECT_EQ((n * n - 3 * m).to_string(names), "n*n - 3*m");
  EXPECT_EQ(Polynomial(0).to_string(names), "0");
  EXPECT_EQ((Polynomial(Symbol::index(2)) + names.intern("batch size")).to_string(names),
            "$\"batch size\" + i2");
}

TEST_F(PolynomialTest, OverflowIsNoticed) {
  const Polynomial huge = INT64_MAX, n = Symbol{0};
  EXPECT_FALSE(Polynomial::checked_add(huge, 1));
  EXPECT_FALSE(Polynomial::checked_multiply(huge * n, 2));
  EXPECT_FALSE((n * n).checked_evaluate([](Symbol) { return INT64_MAX; }));
  EXPECT_EXIT(huge + 1, testing::ExitedWithCode(1),
              "broken invariant: sum: sum of sizes overflows");
}

}  // namespace
}  // namespace soapstone::core
