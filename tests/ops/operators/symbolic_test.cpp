// Every operator works on symbolic sizes: each example is inferred and given its meaning with all
// sizes replaced by distinct symbols, and both agree with the example once the numbers are back.
#include <gtest/gtest.h>

#include <set>

#include "tests/ops/op_examples.h"
#include "tests/ops/op_symbolic.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

/// The example's node with symbols for all sizes but 1, which broadcasting looks at.
struct Symbolic {
  explicit Symbolic(const core::Graph& graph) : node(graph.node(graph.order().front())) {
    for (core::TensorId id : node.inputs) {
      types.push_back(graph.tensor(id).type);
      dims.push_back(*core::concrete(types.back().shape));
      for (core::Size& size : types.back().shape) {
        if (size == core::Size(1)) continue;
        const core::Symbol symbol{static_cast<std::uint32_t>(values.size())};
        values[symbol] = size.constant();
        size = symbol;
      }
    }
  }
  const core::Node& node;
  std::vector<core::TensorType> types;
  std::vector<Dims> dims;
  Assignment values;
};

class EverySymbolicExample : public ::testing::TestWithParam<OpExample> {
 protected:
  std::size_t result_count() const {
    const std::string& text = GetParam().results;
    std::size_t count = 1;
    for (std::size_t at = 0; (at = text.find("  ", at)) != std::string::npos; at += 2) ++count;
    return count;
  }
};

TEST_P(EverySymbolicExample, AgreesWithNumbers) {
  const core::Graph graph = graph_of(GetParam().inputs, GetParam().call, result_count());
  Symbolic symbolic(graph);
  const OpDefinition& op = *definition_of(symbolic.node);

  InferContext context(symbolic.node.attributes, symbolic.types, op.name);
  const auto results = op.infer(context);
  ASSERT_FALSE(context.failed()) << context.error().to_string();
  assign(context.derived(), symbolic.values);
  for (const SizeConstraint& c : context.constraints())
    EXPECT_TRUE(holds(c, symbolic.values)) << c.label;
  ASSERT_EQ(results.size(), graph.outputs().size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    core::TensorType type = results[k];
    substitute(type.shape, symbolic.values);
    EXPECT_EQ(type, graph.tensor(graph.outputs()[k]).type);
  }

  const auto inputs = random_inputs(graph, 4, GetParam().positive);
  const auto expected = run(graph, inputs);
  const Semantics meaning = substitute(
      op.semantics({symbolic.node.attributes, symbolic.types, results}), symbolic.values);
  std::vector<Values> outputs;
  for (const Values& values : expected) outputs.emplace_back(values.size());
  CompiledSemantics<double>(meaning, symbolic.dims)
      .compute(std::vector<std::span<const double>>(inputs.begin(), inputs.end()),
               std::vector<std::span<double>>(outputs.begin(), outputs.end()));
  for (std::size_t k = 0; k < expected.size(); ++k) expect_near(outputs[k], expected[k]);
}

INSTANTIATE_TEST_SUITE_P(All, EverySymbolicExample, ::testing::ValuesIn(op_examples()),
                         example_name);

}  // namespace
}  // namespace soapstone::ops::test
