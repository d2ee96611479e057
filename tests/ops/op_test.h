// Shared by the tests of operator definitions: graphs from text, random values that suit an
// operator, and evaluation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/text.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"

namespace soapstone::ops::test {

using core::Dims;
using Values = std::vector<double>;
using Ints = std::vector<std::int64_t>;
constexpr auto kF32 = core::DataType::kFloat32;

inline core::Literal ints(const Ints& values) {
  return core::Literal::ints({static_cast<std::int64_t>(values.size())}, values);
}

inline core::Result<core::Graph> parse(std::string_view text) {
  return core::parse_graph(text, registry(), infer_types);
}

/// `x: f32[2]  i: i64[3]` and `relu(x)` as a graph with that many results.
inline std::string graph_text(std::string_view inputs, std::string_view call,
                              std::size_t results = 1) {
  std::string text = "graph example\n", names;
  std::string line(inputs);
  for (std::size_t at; (at = line.find("  ")) != std::string::npos;) {
    text += "  " + line.substr(0, at) + "\n";
    line.erase(0, at + 2);
  }
  if (!line.empty()) text += "  " + line + "\n";
  for (std::size_t k = 0; k < results; ++k) names += (k ? ", y" : "y") + std::to_string(k);
  return text + "  " + names + " = " + std::string(call) + "\n  return " + names + "\n";
}

inline core::Graph graph_of(std::string_view inputs, std::string_view call,
                            std::size_t results = 1) {
  auto graph = parse(graph_text(inputs, call, results));
  EXPECT_TRUE(graph.ok()) << graph_text(inputs, call, results)
                          << (graph ? "" : graph.error().to_string());
  return *std::move(graph);
}

inline std::size_t count_of(const core::TensorType& type) {
  return static_cast<std::size_t>(core::element_count(*core::concrete(type.shape)));
}

/// Reals of both signs, or positive ones; integers 0, 1, 2; truth values.
inline Values random_values(const core::TensorType& type, std::mt19937& random, bool positive) {
  std::uniform_real_distribution<double> real(positive ? 0.5 : -2, 2);
  std::uniform_int_distribution<int> small(0, type.data_type == core::DataType::kBool ? 1 : 2);
  Values values(count_of(type));
  for (double& value : values)
    // Values that a float holds, as a model's are.
    value = core::is_floating(type.data_type) ? static_cast<float>(real(random))
                                              : static_cast<double>(small(random));
  return values;
}

inline std::vector<Values> random_inputs(const core::Graph& graph, unsigned seed,
                                         bool positive = false) {
  std::mt19937 random(seed);
  std::vector<Values> inputs;
  for (core::TensorId id : graph.inputs())
    inputs.push_back(random_values(graph.tensor(id).type, random, positive));
  return inputs;
}

inline std::vector<Values> run(const core::Graph& graph, const std::vector<Values>& inputs) {
  auto outputs = evaluate_graph<double>(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << (outputs ? "" : outputs.error().to_string());
  return *std::move(outputs);
}

inline Values counting(std::size_t count, double first = 0) {
  Values values(count);
  for (std::size_t k = 0; k < count; ++k) values[k] = first + static_cast<double>(k);
  return values;
}

inline void expect_near(const Values& actual, const Values& expected, double tolerance = 1e-9) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k)
    ASSERT_NEAR(actual[k], expected[k], tolerance * (1 + std::fabs(expected[k])))
        << "element " << k;
}

/// A call that breaks the constraint of that label, and no other before it.
struct Refusal {
  const char* label;
  const char* inputs;
  const char* call;
  std::size_t results = 1;
};

inline void expect_refused(const Refusal& refusal) {
  const auto graph = parse(graph_text(refusal.inputs, refusal.call, refusal.results));
  ASSERT_FALSE(graph.ok()) << refusal.call << " should break " << refusal.label;
  EXPECT_THAT(graph.error().message, ::testing::HasSubstr("[" + std::string(refusal.label) + "]"))
      << refusal.call;
}

/// The type inferred from symbolic shapes, with the constraints that it needs.
struct SymbolicInference {
  core::Attributes attributes;
  std::vector<core::TensorType> inputs;
  std::vector<core::TensorType> results;
  std::vector<std::string> constraints;  ///< `label: expression (≥ or =) 0`
  std::vector<DerivedSize> derived;
};

inline SymbolicInference infer_symbolically(std::string_view op, const core::Attributes& attributes,
                                            std::vector<core::Shape> shapes,
                                            core::SymbolTable names) {
  SymbolicInference done;
  const OpDefinition* definition = registry().definition(op);
  done.attributes = complete_attributes(*definition, attributes).value();
  for (core::Shape& shape : shapes)
    done.inputs.push_back({core::DataType::kFloat32, std::move(shape)});
  InferContext context(done.attributes, done.inputs, std::string(op));
  done.results = definition->infer(context);
  EXPECT_FALSE(context.failed()) << context.error().to_string();
  done.derived = context.derived();
  // Derived sizes print as q0, q1, ….
  const auto named = [&](core::Symbol s) -> std::optional<Polynomial> {
    for (std::size_t k = 0; k < done.derived.size(); ++k)
      if (done.derived[k].symbol == s) return names.intern("q" + std::to_string(k));
    return std::nullopt;
  };
  for (const SizeConstraint& c : context.constraints())
    done.constraints.push_back(c.label + ": " + c.expression.substitute(named).to_string(names) +
                               (c.kind == SizeConstraint::Kind::kZero ? " = 0" : " ≥ 0"));
  return done;
}

}  // namespace soapstone::ops::test
