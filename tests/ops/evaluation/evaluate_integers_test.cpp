// Exact integers: equal to doubles where those are exact, right where those are not, and a refusal
// where no integer of the element type is the value.
#include "ops/evaluation/integers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/definition/registry.h"
#include "tests/ops/random_semantics.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::GraphBuilder;
using core::TensorId;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

template <class T>
std::vector<T> compute(const Semantics& semantics, const std::vector<core::Dims>& dims,
                       const std::vector<std::vector<T>>& inputs) {
  const CompiledSemantics<T> program(semantics, dims);
  const auto& shape = semantics.stages[semantics.outputs[0] - semantics.input_count].shape;
  std::vector<T> result(static_cast<std::size_t>(core::element_count(*core::concrete(shape))));
  const std::vector<std::span<const T>> sources(inputs.begin(), inputs.end());
  const std::vector<std::span<T>> targets{result};
  program.compute(sources, targets);
  return result;
}

/// The result of `op` on vectors of that type: its elements as text, or the error.
std::string computed(const std::string& op, const std::vector<Ints>& inputs,
                     DataType type = DataType::kInt64, const core::Attributes& attributes = {}) {
  GraphBuilder b;
  std::vector<TensorId> ids;
  std::vector<std::vector<Integer>> values;
  for (const Ints& input : inputs) {
    const core::Shape shape = core::to_shape({std::ssize(input)});
    ids.push_back(b.add_input("x" + std::to_string(ids.size()), {type, shape, true}));
    values.emplace_back(input.begin(), input.end());
  }
  b.set_outputs(append(b, op, ids, attributes).value());
  const auto results = evaluate_graph<Integer>(std::move(b).finish().value(), values);
  if (!results) return results.error().to_string();
  std::string text;
  for (const Integer value : (*results)[0]) {
    EXPECT_TRUE(fits(value, DataType::kInt64));
    text += (text.empty() ? "" : " ") + std::to_string(static_cast<std::int64_t>(value));
  }
  return text;
}

TEST(EvaluateIntegers, EqualDoublesWhereThoseAreExact) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    random_semantics::Generator generator(seed);
    const Semantics semantics = generator.make();
    std::mt19937 random(seed);
    std::vector<std::vector<double>> reals;
    std::vector<std::vector<Integer>> integers;
    for (const core::Dims& dims : generator.dims()) {
      reals.emplace_back();
      for (std::int64_t k = core::element_count(dims); k > 0; --k)
        reals.back().push_back(static_cast<int>(random() % 9) - 4);
      integers.emplace_back(reals.back().begin(), reals.back().end());
    }
    const auto expected = compute<double>(semantics, generator.dims(), reals);
    bool is_small = true;
    for (double v : expected) is_small &= std::fabs(v) < 0x1p40;
    if (!is_small) continue;
    const auto found = compute<Integer>(semantics, generator.dims(), integers);
    ASSERT_EQ(std::vector<double>(found.begin(), found.end()), expected)
        << "seed " << seed << "\n"
        << to_string(semantics, {});
    ++compared;
  }
  EXPECT_GT(compared, 900);
}

TEST(EvaluateIntegers, AreExactBeyondDoubles) {
  EXPECT_EQ(computed("add", {{kLargest - 1}, {1}}), "9223372036854775807");
  EXPECT_EQ(computed("sub", {{-1}, {kSmallest}}), "9223372036854775807");
  EXPECT_EQ(computed("mul", {{3037000499}, {3037000499}}), "9223372030926249001");
  EXPECT_EQ(computed("max", {{kLargest - 1}, {kLargest}}), "9223372036854775807");
  EXPECT_EQ(computed("min", {{kSmallest}, {kSmallest + 1}}), "-9223372036854775808");
  EXPECT_EQ(computed("less", {{kLargest - 1}, {kLargest}}), "1");
  EXPECT_EQ(computed("equal", {{kLargest - 1}, {kLargest}}), "0");
  EXPECT_EQ(computed("pow", {{3, -2, 0}, {39, 63, 0}}),
            "4052555153018976267 -9223372036854775808 1");
  const core::Attributes all{{"axes", std::vector<Polynomial>{0}}, {"keep_dims", Polynomial(0)}};
  EXPECT_EQ(computed("reduce_sum", {{kLargest, kLargest, -kLargest}}, DataType::kInt64, all),
            "9223372036854775807");
  EXPECT_EQ(computed("reduce_min", {{kLargest, kSmallest}}, DataType::kInt64, all),
            "-9223372036854775808");
}

TEST(EvaluateIntegers, OverflowIsRefused) {
  EXPECT_THAT(computed("add", {{0, kLargest}, {0, 1}}),
              HasSubstr("add: element 1 of the result is beyond the integers of type i64"));
  EXPECT_THAT(computed("neg", {{kSmallest}}), HasSubstr("beyond the integers"));
  EXPECT_THAT(computed("abs", {{kSmallest}}), HasSubstr("beyond the integers"));
  EXPECT_THAT(computed("add", {{2147483647}, {1}}, DataType::kInt32),
              HasSubstr("beyond the integers of type i32"));
  EXPECT_THAT(computed("cast", {{2147483648}}, DataType::kInt64, {{"to", std::string("i32")}}),
              HasSubstr("beyond the integers of type i32"));
  EXPECT_EQ(computed("cast", {{-2147483648}}, DataType::kInt64, {{"to", std::string("i32")}}),
            "-2147483648");
}

TEST(EvaluateIntegers, WhatIsNoIntegerIsRefused) {
  EXPECT_THAT(computed("pow", {{2}, {-1}}), HasSubstr("element 0 of the result has no integer"));
  EXPECT_THAT(computed("pow", {{10}, {40}}), HasSubstr("has no integer value"));
  EXPECT_THAT(computed("exp", {{}}, DataType::kFloat32),
              HasSubstr("'x0' has elements of type f32, which are no integers"));
  EXPECT_THAT(computed("cast", {{1}}, DataType::kInt64, {{"to", std::string("f32")}}),
              HasSubstr("of type f32, which are no integers"));
}

TEST(EvaluateIntegers, QuotientsRoundOnce) {
  const auto quotients = [](Function rounding, std::int64_t a, std::int64_t b) {
    SemanticsBuilder builder(2);
    builder.output({Polynomial(1)}, [&](const std::vector<Polynomial>& i) {
      return apply(rounding, {read(0, {i[0]}) * inverse(read(1, {i[0]}))});
    });
    return compute<Integer>(std::move(builder).finish(), {{1}, {1}}, {{a}, {b}})[0];
  };
  for (const std::int64_t a : {-7, -6, 0, 6, 7})
    for (const std::int64_t b : {-3, -2, 2, 3}) {
      const double exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_TRUE(quotients(Function::kTruncate, a, b) == std::trunc(exact)) << a << "/" << b;
      EXPECT_TRUE(quotients(Function::kFloor, a, b) == std::floor(exact)) << a << "/" << b;
      EXPECT_TRUE(quotients(Function::kCeil, a, b) == std::ceil(exact)) << a << "/" << b;
    }
  EXPECT_TRUE(quotients(Function::kTruncate, kLargest, 3) == kLargest / 3);
  EXPECT_TRUE(quotients(Function::kTruncate, 1, 0) == kNoInteger);
}

TEST(EvaluateIntegers, SelectTakesNoValueFromTheOtherBranch) {
  SemanticsBuilder b(1);
  b.output({Polynomial(2)}, [](const std::vector<Polynomial>& i) {
    const Expr x = read(0, {i[0]});
    return apply(Function::kSelect,
                 {x, apply(Function::kTruncate, {number(12.0) * inverse(x)}), number(5.0)});
  });
  const auto y = compute<Integer>(std::move(b).finish(), {{2}}, {{0, 4}});
  EXPECT_TRUE(y[0] == 5 && y[1] == 3);
}

TEST(EvaluateIntegers, RequirementsAreChecked) {
  const core::Attributes first{{"axis", Polynomial(0)}};
  EXPECT_EQ(computed("gather", {{kLargest, 7, 8}, {-1, 0}}, DataType::kInt64, first),
            "8 9223372036854775807");
  EXPECT_THAT(computed("gather", {{5, 6}, {2}}, DataType::kInt64, first),
              HasSubstr("index 2 at [0] is not in [-2, 2)"));
}

TEST(EvaluateIntegers, ConstantsThereAndBack) {
  const std::uint64_t large = std::numeric_limits<std::uint64_t>::max();
  const auto unsigned_literal =
      core::Literal::copy(DataType::kUInt64, {1}, std::as_bytes(std::span(&large, 1)));
  const auto values = to_integers(unsigned_literal).value();
  EXPECT_TRUE(values[0] == large);
  EXPECT_EQ(to_literal(DataType::kUInt64, {1}, values), unsigned_literal);
  EXPECT_FALSE(to_literal(DataType::kInt64, {1}, values));
  const std::vector<Integer> narrow{-128, 127};
  EXPECT_EQ(to_literal(DataType::kInt8, {2}, narrow)->to_ints(), (Ints{-128, 127}));
  EXPECT_FALSE(to_literal(DataType::kUInt8, {2}, narrow));
  EXPECT_FALSE(to_literal(DataType::kBool, {2}, narrow));
  EXPECT_FALSE(to_integers(core::Literal::scalar(1)));
}

}  // namespace
}  // namespace soapstone::ops
