// Laws that every reader knows must be among the pairs.
#include "generator_fixture.h"

namespace soapstone::generator {
namespace {

TEST(Laws, CommutativityAndAssociativityAreNotLostToSymmetry) {
  const Enumeration found = enumerate_operators({"add", "mul", "matmul"}, 2);
  EXPECT_TRUE(has_law(found, "add(a0, a1) = add(a1, a0)"));
  EXPECT_TRUE(has_law(found, "mul(a0, a1) = mul(a1, a0)"));
  EXPECT_FALSE(has_law(found, "matmul(a0, a1) = matmul(a1, a0)"));
  EXPECT_TRUE(has_law(found, "add(add(a0, a1), a2) = add(add(a2, a1), a0)"));
  EXPECT_TRUE(has_law(found, "mul(mul(a0, a1), a2) = mul(mul(a2, a1), a0)"));
  EXPECT_TRUE(has_law(found, "matmul(a0, matmul(a1, a2)) = matmul(matmul(a0, a1), a2)"));
}

TEST(Laws, Distributivity) {
  const Enumeration found = enumerate_operators({"add", "mul", "matmul"}, 3);
  EXPECT_TRUE(has_law(found, "add(mul(a0, a1), mul(a2, a0)) = mul(add(a1, a2), a0)"));
  EXPECT_TRUE(has_law(found, "add(matmul(a0, a1), matmul(a0, a2)) = matmul(a0, add(a1, a2))") ||
              has_law(found, "add(matmul(a0, a1), matmul(a0, a2)) = matmul(a0, add(a2, a1))"));
}

TEST(Laws, Transposes) {
  const Enumeration found = enumerate_operators({"transpose", "matmul", "relu"}, 3);
  EXPECT_TRUE(has_law(found, "transpose(transpose(a0)) = a0"));
  EXPECT_TRUE(has_law(found, "transpose(relu(a0)) = relu(transpose(a0))"));
  EXPECT_TRUE(has_law(found, "matmul(transpose(a0), transpose(a1)) = transpose(matmul(a1, a0))"));
}

TEST(Laws, OrderIsThatOfNumbers) {
  const Enumeration found = enumerate_operators({"relu", "max", "abs", "neg", "add"}, 3);
  EXPECT_TRUE(has_law(found, "relu(relu(a0)) = relu(a0)"));
  EXPECT_TRUE(has_law(found, "abs(abs(a0)) = abs(a0)"));
  EXPECT_TRUE(has_law(found, "relu(abs(a0)) = abs(a0)"));
  EXPECT_TRUE(has_law(found, "abs(neg(a0)) = abs(a0)"));
  EXPECT_TRUE(has_law(found, "max(neg(a0), a0) = abs(a0)"));
  EXPECT_TRUE(has_law(found, "add(abs(a0), a0) = relu(add(a0, a0))") ||
              has_law(found, "relu(add(a0, a0)) = add(abs(a0), a0)"));
  EXPECT_TRUE(has_law(found, "max(add(a0, a1), add(a0, a2)) = add(max(a1, a2), a0)") ||
              has_law(found, "max(add(a0, a1), add(a2, a0)) = add(max(a1, a2), a0)"));
}

TEST(Laws, FunctionsThatTheFieldDoesNotKnow) {
  const Enumeration found = enumerate_operators({"exp", "add", "mul", "log"}, 3);
  EXPECT_TRUE(has_law(found, "mul(exp(a0), exp(a1)) = exp(add(a0, a1))") ||
              has_law(found, "mul(exp(a0), exp(a1)) = exp(add(a1, a0))"));
  EXPECT_TRUE(has_law(found, "log(exp(a0)) = a0"));
  for (const EqualPair& pair : found.pairs)
    if (plain(law_of(found, pair)) == "a0 = log(exp(a0))") {
      EXPECT_FALSE(pair.exact);
    }
}

TEST(Laws, InversesHaveNoOrderInTheField) {
  const Enumeration found = enumerate_operators({"abs", "reciprocal", "relu"}, 2);
  EXPECT_TRUE(has_law(found, "abs(reciprocal(a0)) = reciprocal(abs(a0))") ||
              has_law(found, "reciprocal(abs(a0)) = abs(reciprocal(a0))"));
  EXPECT_FALSE(has_law(found, "relu(reciprocal(a0)) = reciprocal(relu(a0))") ||
               has_law(found, "reciprocal(relu(a0)) = relu(reciprocal(a0))"));
}

TEST(Laws, ConcatAndSplit) {
  const Enumeration found = enumerate_operators({"concat", "split", "relu", "matmul"}, 3);
  EXPECT_TRUE(has_law(found, "split_0(concat(a0, a1)) = a0"));
  EXPECT_TRUE(has_law(found, "split_1(concat(a0, a1)) = a1"));
  EXPECT_TRUE(has_law(found, "concat(relu(a0), relu(a1)) = relu(concat(a0, a1))"));
  EXPECT_TRUE(
      has_law(found, "concat(matmul(a0, a1), matmul(a0, a2)) = matmul(a0, concat(a1, a2))"));
}

TEST(Laws, Convolutions) {
  const Enumeration found = enumerate_taso(3);
  EXPECT_TRUE(has_law(found, "conv(x0, delta) = x0"));
  EXPECT_TRUE(has_law(found, "conv(x0, average_kernel) = average_pool(x0)"));
  EXPECT_TRUE(has_law(found, "conv(x0, enlarge(w11_0)) = conv(x0, w11_0)"));
  EXPECT_TRUE(
      has_law(found, "concat(conv(x0, w33_0), conv(x0, w33_1)) = conv(x0, concat(w33_0, w33_1))"));
  EXPECT_TRUE(
      has_law(found, "add(conv(x0, w33_0), conv(x0, w33_1)) = conv(x0, add(w33_0, w33_1))") ||
      has_law(found, "add(conv(x0, w33_0), conv(x0, w33_1)) = conv(x0, add(w33_1, w33_0))"));
}

TEST(Laws, WhatIsFalseIsNotFound) {
  const Enumeration found = enumerate_operators({"relu", "matmul", "sub"}, 2);
  EXPECT_FALSE(has_law(found, "sub(a0, a1) = sub(a1, a0)"));
  EXPECT_FALSE(has_law(found, "relu(matmul(a0, a1)) = matmul(relu(a0), a1)"));
  EXPECT_FALSE(has_law(found, "sub(sub(a0, a1), a2) = sub(a0, sub(a1, a2))"));
  EXPECT_TRUE(has_law(found, "sub(a0, a0) = 0"));
}

}  // namespace
}  // namespace soapstone::generator
