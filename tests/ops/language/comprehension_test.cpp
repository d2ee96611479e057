// Building, simplifying and printing comprehensions; fractions of doubles.
#include "ops/language/comprehension.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/comprehension_samples.h"

namespace soapstone::ops {
namespace {

const Expr kX = read(0, {Polynomial(Symbol::index(0))});

TEST(Comprehension, FoldsWhatIsPlain) {
  EXPECT_EQ(kX + number(0.0), kX);
  EXPECT_EQ(number(1.0) * kX, kX);
  EXPECT_EQ((number(0.5) + number(0.25))->number, (Rational{3, 4}));
  EXPECT_EQ((number(0.5) * number(-4.0))->number, (Rational{-2, 1}));
  EXPECT_EQ(inverse(number(-4.0))->number, (Rational{-1, 4}));
  EXPECT_EQ(guard({at_least(3, 2)}, kX), kX);
  EXPECT_EQ(guard({equal(3, 2)}, kX)->number, (Rational{0, 1}));
  EXPECT_EQ(sum({}, kX), kX);
  EXPECT_EQ(maximum({{{}, {}, kX}}), kX);
  EXPECT_EQ(index_value(7)->number, (Rational{7, 1}));
}

TEST(Comprehension, KeepsWhatHasNoValue) {
  EXPECT_EQ((number(0.0) * kX)->kind, ExprKind::kMul);  // 0·∞ is no 0
  EXPECT_EQ(inverse(number(0.0))->kind, ExprKind::kInverse);
}

TEST(Comprehension, FoldingNeverOverflows) {
  const Expr tiny = number(Rational{1, std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ((tiny * tiny)->kind, ExprKind::kMul);
  const Expr large = number(Rational{std::numeric_limits<std::int64_t>::max(), 1});
  EXPECT_EQ((large + large)->kind, ExprKind::kAdd);
}

TEST(Comprehension, FractionsOfDoubles) {
  EXPECT_EQ(to_rational(0), (Rational{0, 1}));
  EXPECT_EQ(to_rational(-0.375), (Rational{-3, 8}));
  EXPECT_EQ(to_rational(1e18), (Rational{1000000000000000000, 1}));
  EXPECT_EQ(to_rational(1e-5), (Rational{1, 100000}));
  EXPECT_EQ(to_rational(1e-12), (Rational{1, 1000000000000}));
  EXPECT_EQ(to_rational(-2.5e-7), (Rational{-1, 4000000}));
  EXPECT_EQ(to_rational(1e-30), (Rational{0, 1}));
  EXPECT_EQ(to_rational(1e30), (Rational{std::numeric_limits<std::int64_t>::max(), 1}));
  EXPECT_EQ(to_rational(-INFINITY), (Rational{-1, 0}));
  EXPECT_EQ(to_rational(std::nan("")), (Rational{0, 0}));
  for (double v : {0.1, 0.2, 1.0 / 3, 3.14159, 0.044715, 1e-5, 1e-12, 123.456, 1.00001e-14,
                   3.0517578125001e-5, -1.2345678901234567e-9}) {
    const Rational r = to_rational(v);
    EXPECT_EQ(double(r.numerator) / double(r.denominator), v) << v;
  }
}

TEST(Comprehension, PrintsEquations) {
  EXPECT_EQ(to_string(samples::matmul(2, 3, 4), {}),
            "out t0[i0, i1] : [2, 4] = Σ{0 ≤ i2 < 3} in0[i0, i2]·in1[i2, i1]\n");
  EXPECT_EQ(to_string(samples::softmax(2, 3), {}),
            "t0[i0] : [2] = max({0 ≤ i1 < 3} in0[i0, i1])\n"
            "t1[i2] : [2] = Σ{0 ≤ i3 < 3} exp(in0[i2, i3] + -1·t0[i2])\n"
            "out t2[i4, i5] : [2, 3] = exp(in0[i4, i5] + -1·t0[i4])·1/t1[i4]\n");
}

TEST(Comprehension, PrintsGuardsAndParentheses) {
  SemanticsBuilder b(1);
  b.output({Polynomial(3)}, [](const std::vector<Polynomial>& i) {
    const Expr x = read_flat(0, i[0]);
    return (x + number(0.5)) * guard({less(i[0], 2), equal(i[0], 1)}, x) + index_value(i[0]);
  });
  EXPECT_EQ(to_string(std::move(b).finish(), {}),
            "out t0[i0] : [3] = (in0.flat[i0] + (1/2))·"
            "(in0.flat[i0] if -i0 + 1 ≥ 0, i0 - 1 = 0 else 0) + value(i0)\n");
}

TEST(Comprehension, SizesMayBeSymbols) {
  core::SymbolTable names;
  const Polynomial n(names.intern("n"));
  SemanticsBuilder b(1);
  b.output({n}, [&](const std::vector<Polynomial>& i) {
    return b.sum_over(n + Polynomial(1), [&](const Polynomial& v) { return read(0, {i[0] + v}); });
  });
  EXPECT_EQ(to_string(std::move(b).finish(), names),
            "out t0[i0] : [n] = Σ{0 ≤ i1 < n + 1} in0[i0 + i1]\n");
}

}  // namespace
}  // namespace soapstone::ops
