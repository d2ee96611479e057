// Holds of every operator: it has an example, says what it computes, infers what the example says,
// evaluates, and survives being written to ONNX and read back at every opset that is supported.
#include <gtest/gtest.h>

#include "ops/definition/registry.h"

#include <set>

#include "ops/onnx/onnx_writing.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_examples.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

constexpr int kFirstOpset = 13, kLastOpset = 23;

std::vector<std::string> types_in(std::string text) {
  std::vector<std::string> types;
  for (std::size_t at; (at = text.find("  ")) != std::string::npos; text.erase(0, at + 2))
    types.push_back(text.substr(0, at));
  types.push_back(text);
  return types;
}

core::Graph example_graph(const OpExample& example) {
  return test::graph_of(example.inputs, example.call, example.result_count());
}

std::string text_of(const core::TensorType& type) {
  return std::string(core::to_string(type.data_type)) + core::to_string(type.shape, {});
}

TEST(Registry, HasAnExampleOfEveryOperator) {
  std::set<std::string> with_example;
  for (const OpExample& example : op_examples()) with_example.insert(example.op());
  for (const auto& op : registry().all()) EXPECT_TRUE(with_example.count(op->name)) << op->name;
  EXPECT_EQ(with_example.size(), registry().all().size());
}

TEST(Registry, HasTheOperatorsOfTheDocumentation) {
  for (const char* name : {"conv",        "enlarge",       "matmul",
                           "max_pool",    "average_pool",  "global_average_pool",
                           "batch_norm",  "layer_norm",    "rms_norm",
                           "softmax",     "cast",          "where",
                           "concat",      "split",         "slice",
                           "pad",         "transpose",     "reshape",
                           "expand",      "gather",        "reduce_sum",
                           "reduce_mean", "reduce_max",    "reduce_min",
                           "full",        "eye",           "opaque",
                           "log_softmax", "nll_loss",      "reduce_log_sum_exp",
                           "softplus",    "less_or_equal", "iota",
                           "cumsum",      "einsum",        "conv_transpose",
                           "resize",      "sgd",           "momentum",
                           "adam",        "top_k",         "gather_elements",
                           "is_nan",      "is_inf"})
    EXPECT_NE(registry().find(name), nullptr) << name;
}

TEST(Registry, EveryDefinitionIsComplete) {
  for (const auto& op : registry().all()) {
    EXPECT_FALSE(op->equation.empty()) << op->name;
    EXPECT_EQ(op->equation.find('\n'), std::string::npos) << op->name;
    EXPECT_TRUE(op->onnx.write) << op->name;
    if (op->name != "enlarge" && op->name != "iota" && op->name != "sgd") {
      EXPECT_FALSE(op->onnx.readers.empty()) << op->name;
    }
    for (const core::AttributeSchema& attribute : op->attributes) {
      EXPECT_FALSE(attribute.name.empty()) << op->name;
      for (const core::AttributeValue& value : attribute.values_to_try)
        EXPECT_EQ(value.index(), static_cast<std::size_t>(attribute.kind()))
            << op->name << " " << attribute.name;
    }
  }
}

TEST(Registry, ReadersOfOneOperatorDoNotOverlap) {
  std::map<std::string, std::vector<std::pair<int, int>>> seen;
  for (const OnnxReader& reader : all_readers()) {
    EXPECT_TRUE(reader.read) << reader.op_type;
    auto& known = seen[reader.domain + "." + reader.op_type];
    for (const auto& [since, until] : known)
      EXPECT_TRUE(reader.since_opset > until || reader.until_opset < since) << reader.op_type;
    known.emplace_back(reader.since_opset, reader.until_opset);
  }
}

TEST(Registry, RefusesSizesThatCouldOverflow) {
  const Refusal refusals[] = {
      {"pad.size_limit", "x: f32[2]", "pad(x; pads=[4611686018427387904, 4611686018427387904])"},
      {"reshape.size_limit", "x: f32[0]", "reshape(x; shape=[4294967296, 0])"},
      {"reshape.element_count", "x: f32[2]", "reshape(x; shape=[2000000000, 2000000000, 9])"},
      {"expand.size_limit", "x: f32[1]", "expand(x; shape=[2000000000, 2000000000, 9])"},
      {"relu.size_limit", "x: f32[4294967296]", "relu(x)"},
      {"relu.size_limit", "x: f32[4294967296*n]", "relu(x)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

class EveryExample : public ::testing::TestWithParam<OpExample> {};

TEST_P(EveryExample, InfersTheResultsItNames) {
  const core::Graph graph = example_graph(GetParam());
  const std::vector<std::string> expected = types_in(GetParam().results);
  ASSERT_EQ(graph.outputs().size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_EQ(text_of(graph.tensor(graph.outputs()[k]).type), expected[k]);
}

TEST_P(EveryExample, EvaluatesToFiniteNumbers) {
  const core::Graph graph = example_graph(GetParam());
  const auto outputs = run(graph, random_inputs(graph, 1, GetParam().positive));
  ASSERT_EQ(outputs.size(), graph.outputs().size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    EXPECT_EQ(outputs[k].size(), count_of(graph.tensor(graph.outputs()[k]).type));
    for (double value : outputs[k]) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_P(EveryExample, EvaluatesInThePrimeField) {
  const core::Graph graph = example_graph(GetParam());
  std::vector<std::vector<Field::Value>> inputs;
  for (const Values& values : random_inputs(graph, 2, GetParam().positive)) {
    inputs.emplace_back();
    for (double value : values) inputs.back().push_back(field_from_rational(to_rational(value)));
  }
  const auto outputs = evaluate_graph<Field::Value>(graph, inputs, 1);
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  for (const auto& output : *outputs)
    for (Field::Value value : output) EXPECT_LT(value, Field::kPrime);
}

TEST_P(EveryExample, SurvivesOnnxAtEveryOpset) {
  const core::Graph graph = example_graph(GetParam());
  const auto inputs = random_inputs(graph, 3, GetParam().positive);
  const auto expected = run(graph, inputs);
  const int first = std::max(kFirstOpset, first_opset(GetParam().op()));
  for (int opset = first; opset <= kLastOpset; ++opset) {
    SCOPED_TRACE(opset);
    const auto onnx = write_onnx(graph, opset);
    ASSERT_TRUE(onnx.ok()) << onnx.error().to_string();
    const auto back = read_onnx(*onnx);
    ASSERT_TRUE(back.ok()) << back.error().to_string();
    const auto outputs = run(*back, inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      // Constants of compositions are floats.
      expect_near(outputs[k], expected[k], 1e-6);
      EXPECT_EQ(back->tensor(back->outputs()[k]).type, graph.tensor(graph.outputs()[k]).type);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryExample, ::testing::ValuesIn(op_examples()), example_name);

}  // namespace

void PrintTo(const OpExample& example, std::ostream* out) {
  *out << example.call << " with " << example.inputs;
}

}  // namespace soapstone::ops::test
