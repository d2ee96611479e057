// The compiled evaluator against naive loops, against an interpreter that compiles nothing, and
// doubles against the prime field.
#include "ops/evaluation/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/evaluation/field.h"
#include "tests/ops/brute_force.h"
#include "tests/ops/comprehension_samples.h"
#include "tests/ops/random_semantics.h"

namespace soapstone::ops {
namespace {

using field::Value;

template <class T>
std::vector<std::vector<T>> run(const Semantics& semantics, const std::vector<core::Dims>& dims,
                                const std::vector<std::vector<T>>& inputs, std::uint64_t key = 0) {
  const CompiledSemantics<T> program(semantics, dims, key);
  std::vector<std::vector<T>> outputs;
  for (std::uint32_t out : semantics.outputs) {
    const auto& shape = semantics.stages[out - semantics.input_count].shape;
    outputs.emplace_back(static_cast<std::size_t>(core::element_count(*core::concrete(shape))),
                         T(77));
  }
  std::vector<std::span<const T>> in(inputs.begin(), inputs.end());
  std::vector<std::span<T>> out(outputs.begin(), outputs.end());
  program.compute(in, out);
  return outputs;
}

std::vector<double> random_values(std::int64_t count, std::mt19937& random) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = static_cast<double>(static_cast<int>(random() % 9) - 4);
  return values;
}

std::vector<std::vector<double>> random_inputs(const std::vector<core::Dims>& dims,
                                               std::mt19937& random) {
  std::vector<std::vector<double>> inputs;
  for (const auto& d : dims) inputs.push_back(random_values(core::element_count(d), random));
  return inputs;
}

std::vector<Value> to_field_values(const std::vector<double>& values) {
  std::vector<Value> result;
  for (double v : values) result.push_back(field::from_int(static_cast<std::int64_t>(v)));
  return result;
}

std::vector<double> naive_conv(const samples::Conv& p, const std::vector<double>& x,
                               const std::vector<double>& w) {
  std::vector<double> y;
  const auto dims = p.y();
  const std::int64_t channels = p.c / p.group;
  for (std::int64_t n = 0; n < dims[0]; ++n)
    for (std::int64_t o = 0; o < dims[1]; ++o)
      for (std::int64_t i = 0; i < dims[2]; ++i)
        for (std::int64_t j = 0; j < dims[3]; ++j) {
          double total = 0;
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t u = 0; u < p.kh; ++u)
              for (std::int64_t v = 0; v < p.kw; ++v) {
                const std::int64_t row = i * p.stride + u * p.dilation - p.pad;
                const std::int64_t col = j * p.stride + v * p.dilation - p.pad;
                if (row < 0 || row >= p.h || col < 0 || col >= p.w) continue;
                const std::int64_t channel = o / (p.o / p.group) * channels + c;
                total +=
                    x[static_cast<std::size_t>(((n * p.c + channel) * p.h + row) * p.w + col)] *
                    w[static_cast<std::size_t>(((o * channels + c) * p.kh + u) * p.kw + v)];
              }
          y.push_back(total);
        }
  return y;
}

TEST(Evaluate, ConvolutionEqualsNaiveLoops) {
  std::mt19937 random(1);
  const samples::Conv cases[] = {
      {},
      {.n = 2, .c = 4, .o = 6, .group = 2},
      {.h = 9, .w = 11, .stride = 2, .pad = 0},
      {.h = 9, .w = 11, .stride = 3, .dilation = 2, .pad = 2},
      {.c = 4, .h = 3, .w = 3, .o = 4, .kh = 1, .kw = 1, .pad = 0, .group = 4},
      {.h = 5, .w = 2, .kh = 5, .kw = 3, .pad = 2},
      {.h = 1, .w = 300, .kh = 1, .kw = 7, .pad = 3},
  };
  for (const auto& p : cases) {
    const auto x = random_values(core::element_count(p.x()), random);
    const auto w = random_values(core::element_count(p.weight()), random);
    const auto expected = naive_conv(p, x, w);
    EXPECT_EQ(run<double>(samples::conv(p), {p.x(), p.weight()}, {x, w})[0], expected);
    EXPECT_EQ(run<Value>(samples::conv(p), {p.x(), p.weight()},
                         {to_field_values(x), to_field_values(w)})[0],
              to_field_values(expected));
  }
}

TEST(Evaluate, MatmulOfAllSmallShapes) {
  std::mt19937 random(2);
  for (std::int64_t m : {1, 2, 5, 9})
    for (std::int64_t k : {1, 3, 4, 130})
      for (std::int64_t n : {1, 3, 8, 259}) {
        const auto a = random_values(m * k, random), b = random_values(k * n, random);
        std::vector<double> expected;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double total = 0;
            for (std::int64_t v = 0; v < k; ++v)
              total +=
                  a[static_cast<std::size_t>(i * k + v)] * b[static_cast<std::size_t>(v * n + j)];
            expected.push_back(total);
          }
        const auto semantics = samples::matmul(m, k, n);
        EXPECT_EQ(run<double>(semantics, {{m, k}, {k, n}}, {a, b})[0], expected);
        EXPECT_EQ(
            run<Value>(semantics, {{m, k}, {k, n}}, {to_field_values(a), to_field_values(b)})[0],
            to_field_values(expected));
      }
}

TEST(Evaluate, SoftmaxSumsToOneAndDoesNotOverflow) {
  const auto y = run<double>(samples::softmax(2, 3), {{2, 3}}, {{1, 2, 3, 1000, 1000, 1000}})[0];
  EXPECT_NEAR(y[0] + y[1] + y[2], 1, 1e-12);
  EXPECT_NEAR(y[1] / y[0], std::exp(1.0), 1e-12);
  EXPECT_NEAR(y[4], 1.0 / 3, 1e-12);
}

TEST(Evaluate, GatherTakesRowsAndIgnoresOthers) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto semantics = samples::gather(3, 4, 2);
  const auto y = run<double>(semantics, {{3, 2}, {4}}, {{1, 2, 3, 4, inf, inf}, {1, 0, 7, 1}})[0];
  EXPECT_EQ(y, (std::vector<double>{3, 4, 1, 2, 0, 0, 3, 4}));
}

TEST(Evaluate, RandomComprehensionsEqualBruteForce) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    random_semantics::Generator generator(seed);
    const Semantics semantics = generator.make();
    std::mt19937 random(seed);
    const auto inputs = random_inputs(generator.dims(), random);
    const brute_force::Interpreter<double> oracle(semantics, generator.dims(), inputs,
                                                  brute_force::doubles());
    const auto y = run<double>(semantics, generator.dims(), inputs)[0];
    bool is_exact = true;  // integers below 2^53 have one sum in any order
    for (double v : oracle.output(0)) is_exact &= std::fabs(v) < 0x1p40;
    if (!is_exact) continue;
    ASSERT_EQ(y, oracle.output(0)) << "seed " << seed << "\n" << to_string(semantics, {});
  }
}

TEST(Evaluate, FieldEqualsDoublesOnIntegers) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    random_semantics::Generator generator(seed);
    const Semantics semantics = generator.make();
    std::mt19937 random(seed);
    const auto inputs = random_inputs(generator.dims(), random);
    const auto y = run<double>(semantics, generator.dims(), inputs)[0];
    bool is_small = true;
    for (double v : y) is_small &= std::fabs(v) < 0x1p40;
    if (!is_small) continue;
    std::vector<std::vector<Value>> values;
    for (const auto& x : inputs) values.push_back(to_field_values(x));
    ASSERT_EQ(run<Value>(semantics, generator.dims(), values)[0], to_field_values(y))
        << "seed " << seed << "\n"
        << to_string(semantics, {});
    ++compared;
  }
  EXPECT_GT(compared, 900);
}

TEST(Evaluate, GuardedBodyIsNotEvaluated) {
  SemanticsBuilder b(1);
  b.output({Polynomial(4)}, [](const std::vector<Polynomial>& i) {
    return guard({less(i[0], 2)}, inverse(read(0, {i[0]})));
  });
  const auto y = run<double>(std::move(b).finish(), {{2}}, {{2, 4}})[0];
  EXPECT_EQ(y, (std::vector<double>{0.5, 0.25, 0, 0}));
}

TEST(Evaluate, ValueOfAGuardOutlivesTheNextArgument) {
  SemanticsBuilder b(1);
  b.output({Polynomial(4)}, [](const std::vector<Polynomial>& i) {
    const Expr zero = read(0, {}) * read(0, {});  // one value for all lanes, below a guard
    const Expr condition = guard({at_least(i[0], 1)}, zero);
    const Expr chosen = apply(
        Function::kSelect, {condition, index_value(i[0]) + number(7.0), index_value(i[0] + i[0])});
    return guard({at_least(i[0], 1)}, chosen);
  });
  const auto y = run<double>(std::move(b).finish(), {{}}, {{0}})[0];
  EXPECT_EQ(y, (std::vector<double>{0, 2, 4, 6}));
}

TEST(Evaluate, SelectDoesNotLeakNan) {
  SemanticsBuilder b(1);
  b.output({Polynomial(2)}, [](const std::vector<Polynomial>& i) {
    const Expr x = read(0, {i[0]});
    return apply(Function::kSelect, {x, inverse(x), number(5.0)});
  });
  const auto y = run<double>(std::move(b).finish(), {{2}}, {{0, 4}})[0];
  EXPECT_EQ(y, (std::vector<double>{5, 0.25}));
}

TEST(Evaluate, MaximumPassesNanOn) {
  SemanticsBuilder b(1);
  b.output({}, [&](const std::vector<Polynomial>&) {
    return b.max_over(3, [](const Polynomial& v) { return read(0, {v}); });
  });
  const Semantics semantics = std::move(b).finish();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run<double>(semantics, {{3}}, {{-3, -1, -2}})[0][0], -1);
  for (int k = 0; k < 3; ++k) {
    std::vector<double> x{1, 2, 3};
    x[static_cast<std::size_t>(k)] = nan;
    EXPECT_TRUE(std::isnan(run<double>(semantics, {{3}}, {x})[0][0])) << k;
  }
}

TEST(Evaluate, EmptyTensorsAndEmptySums) {
  const auto empty =
      run<double>(samples::matmul(0, 3, 2), {{0, 3}, {3, 2}}, {{}, {1, 2, 3, 4, 5, 6}});
  EXPECT_TRUE(empty[0].empty());
  const auto zeros = run<double>(samples::matmul(2, 0, 2), {{2, 0}, {0, 2}}, {{}, {}});
  EXPECT_EQ(zeros[0], std::vector<double>(4, 0.0));
}

TEST(Evaluate, SeveralOutputs) {
  SemanticsBuilder b(1);
  for (std::int64_t start : {0, 2})
    b.output({Polynomial(2)},
             [&](const std::vector<Polynomial>& i) { return read(0, {i[0] + Polynomial(start)}); });
  const auto y = run<double>(std::move(b).finish(), {{4}}, {{1, 2, 3, 4}});
  EXPECT_EQ(y[0], (std::vector<double>{1, 2}));
  EXPECT_EQ(y[1], (std::vector<double>{3, 4}));
}

TEST(EvaluateDeathTest, UnguardedReadOutOfBoundsIsABrokenDefinition) {
  SemanticsBuilder b(1);
  b.output({Polynomial(4)}, [](const std::vector<Polynomial>& i) { return read(0, {i[0]}); });
  const Semantics semantics = std::move(b).finish();
  const core::Dims dims[] = {{3}};
  EXPECT_DEATH(CompiledSemantics<double>(semantics, dims), "out of bounds");
}

}  // namespace
}  // namespace soapstone::ops
