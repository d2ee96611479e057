// Shared by the tests of executors and backends: graphs from text, and the values that they must
// have, computed by ops::evaluate_graph.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "ops/evaluation/evaluate.h"
#include "runtime/execution/executor.h"
#include "tests/support/graphs.h"

namespace soapstone::runtime::test {

inline core::Graph parse(std::string_view body) {
  return graph_of("graph example\n" + std::string(body));
}

inline std::vector<std::vector<double>> expected(const core::Graph& graph,
                                                 const std::vector<core::Literal>& inputs) {
  std::vector<std::vector<double>> values;
  for (const core::Literal& input : inputs) values.push_back(input.to_doubles());
  auto outputs = ops::evaluate_graph<double>(graph, values);
  EXPECT_TRUE(outputs.ok()) << (outputs ? "" : outputs.error().to_string());
  return *std::move(outputs);
}

/// Equal up to `tolerance`, relative to the larger of 1 and the expected value.
inline void expect_close(const std::vector<double>& actual, const std::vector<double>& wanted,
                         double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double scale = std::max(1.0, std::fabs(wanted[i]));
    ASSERT_LE(std::fabs(actual[i] - wanted[i]), tolerance * scale)
        << what << ", element " << i << ": " << actual[i] << " instead of " << wanted[i];
  }
}

inline Executable executable(const core::Graph& graph, Backend& backend,
                             Fusion fusion = Fusion::kFull) {
  auto result = Executable::make(graph, backend, {fusion});
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().to_string());
  return *std::move(result);
}

/// Runs the graph with random inputs and compares all outputs with the meaning of the operators.
inline void expect_right(const core::Graph& graph, Backend& backend, Fusion fusion,
                         double tolerance = 1e-4, unsigned seed = 1) {
  const std::vector<core::Literal> inputs = random_inputs(graph, seed);
  Executable program = executable(graph, backend, fusion);
  const auto outputs = program.run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  const auto wanted = expected(graph, inputs);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    expect_close((*outputs)[k].to_doubles(), wanted[k], tolerance,
                 core::print(graph) + "fusion " + std::string(to_string(fusion)) + ", output " +
                     std::to_string(k));
}

}  // namespace soapstone::runtime::test
