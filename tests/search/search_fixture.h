// Small graphs and rules that the tests of the search share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "ops/definition/registry.h"
#include "tests/support/graphs.h"
#include "tests/support/rules.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// A rule that is wrong wherever a and b differ.
inline const char* const kWrongRule = R"(
rule drop_second_matmul
  x: [m, k]   a: [k, n]   b: [k, n]
  source
    y = matmul(x, a)
    z = matmul(x, b)
    s = add(y, z)
  target
    s = matmul(x, a)
  checked 2^61-1, 200 sizes; floats: exact
)";

/// A rule of the baseline.
inline const char* const kDoubleNegation = R"(
rule double_negation
  x: [n, m]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
  checked 2^61-1, 10 sizes; floats: exact
)";

/// Matrices of constants, distinct and small.
inline core::LiteralPtr weights(std::int64_t rows, std::int64_t columns, float seed) {
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = seed + 0.25F * static_cast<float>(i % 7) - 0.5F;
  }
  return std::make_shared<const core::Literal>(core::Literal::floats({rows, columns}, values));
}

/// `count` matmuls that share their left side, one row, so that splitting the result is free.
inline core::Graph parallel_matmuls(std::size_t count, std::int64_t size = 8) {
  core::GraphBuilder builder("parallel_matmuls");
  const core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, {1, size}, true});
  std::vector<core::TensorId> outputs;
  for (std::size_t k = 0; k < count; ++k) {
    const auto w = builder.add_constant(weights(size, size, static_cast<float>(k)));
    const auto y = ops::append(builder, "matmul", {x, w});
    outputs.push_back((*y)[0]);
  }
  builder.set_outputs(outputs);
  auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph.ok());
  return *std::move(graph);
}

}  // namespace soapstone::search
