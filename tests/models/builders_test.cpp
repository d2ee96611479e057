// The built-in networks have the sizes that their authors published, and are the same every time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/networks/builders.h"
#include "ops/evaluation/evaluate.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using Parameters = std::map<std::string, std::int64_t>;

core::Graph build(const std::string& name, const Parameters& parameters = {},
                  std::uint64_t seed = 0) {
  auto graph = build_model(name, parameters, seed);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return *std::move(graph);
}

/// Counts parameters that are trained: all weights but batch norm's statistics, masks and indices.
std::int64_t trained_parameters(const core::Graph& graph) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const core::TensorId id(i);
    if (!graph.contains(id) || !graph.tensor(id).value) continue;
    const core::Tensor& tensor = graph.tensor(id);
    const bool is_statistic =
        tensor.name.ends_with(".norm.mean") || tensor.name.ends_with(".norm.variance");
    const bool is_computed = tensor.name.ends_with(".mask") || tensor.name.ends_with(".index");
    if (!is_statistic && !is_computed && !tensor.value->dims().empty())
      count += tensor.value->count();
  }
  return count;
}

TEST(Builders, PublishedParameterCounts) {
  EXPECT_EQ(trained_parameters(build("squeezenet")), 1'248'424);
  EXPECT_EQ(trained_parameters(build("resnet50")), 25'557'032);
  EXPECT_EQ(trained_parameters(build("resnext50")), 25'028'904);
  EXPECT_EQ(trained_parameters(build("inception_v3")), 23'834'568);
  // An encoder layer of BERT-base; 12 of them are 85.1 million.
  const Parameters one = {{"embeddings", 0}, {"layers", 1}},
                   two = {{"embeddings", 0}, {"layers", 2}};
  EXPECT_EQ(trained_parameters(build("bert_base", two)) -
                trained_parameters(build("bert_base", one)),
            7'087'872);
  // Token, position and segment tables, and their layer norm.
  EXPECT_EQ(trained_parameters(build("bert_base", {{"layers", 1}})) -
                trained_parameters(build("bert_base", one)),
            (30522 + 512 + 2 + 2) * 768);
  EXPECT_EQ(trained_parameters(build("nasrnn")), 16 * 512 * 512);
  EXPECT_EQ(trained_parameters(build("swin")), 28'288'354);
}

struct Small {
  const char* name;
  Parameters parameters;
};
void PrintTo(const Small& c, std::ostream* out) { *out << c.name; }

const Small kSmall[] = {
    {"squeezenet", {{"image", 48}, {"width_percent", 10}, {"classes", 7}}},
    {"inception_v3", {{"image", 75}, {"width_percent", 4}, {"classes", 7}}},
    {"inception_v3", {{"image", 75}, {"width_percent", 4}, {"classes", 7}, {"fold_bn", 1}}},
    {"resnet50", {{"image", 32}, {"width", 2}, {"classes", 7}}},
    {"resnet50", {{"image", 32}, {"width", 2}, {"classes", 7}, {"fold_bn", 1}}},
    {"resnext50", {{"image", 32}, {"width", 2}, {"groups", 2}, {"group_width", 1}, {"classes", 7}}},
    {"bert_base", {{"layers", 2}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"vocabulary", 11}}},
    {"bert_base", {{"layers", 2}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"embeddings", 0}}},
    {"nasrnn", {{"hidden", 6}, {"steps", 3}, {"batch", 2}}},
    {"swin", {{"image", 64}, {"window", 2}, {"width", 6}, {"classes", 7}, {"batch", 2}}},
};

class SmallNetworkTest : public ::testing::TestWithParam<Small> {};

TEST_P(SmallNetworkTest, SameSeedSameNetwork) {
  const auto& [name, parameters] = GetParam();
  const auto a = build(name, parameters, 1);
  EXPECT_EQ(a.hash(), build(name, parameters, 1).hash());
  EXPECT_NE(a.hash(), build(name, parameters, 2).hash());
}

TEST_P(SmallNetworkTest, IsAValidModel) {
  const auto& [name, parameters] = GetParam();
  const auto graph = build(name, parameters);
  const std::string bytes = write_checked(graph, *new_header());
  const auto again = parse_onnx(bytes);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(again->opaque_nodes.empty());
}

std::vector<std::vector<double>> evaluate(const core::Graph& graph) {
  std::vector<std::vector<double>> inputs;
  for (core::TensorId id : graph.inputs()) {
    const core::TensorType& type = graph.tensor(id).type;
    std::vector<double> values(
        static_cast<std::size_t>(core::element_count(*core::concrete(type.shape))));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_real = core::is_floating(type.data_type);
      values[i] = is_real ? std::sin(static_cast<double>(i)) : static_cast<double>(i % 2);
    }
    inputs.push_back(std::move(values));
  }
  auto outputs = ops::evaluate_graph<double>(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
  return *std::move(outputs);
}

TEST_P(SmallNetworkTest, ResultsAreFiniteAndVary) {
  const auto& [name, parameters] = GetParam();
  for (const auto& output : evaluate(build(name, parameters))) {
    double smallest = 1e300, largest = -1e300;
    for (double value : output) {
      ASSERT_TRUE(std::isfinite(value));
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
    EXPECT_LT(smallest, largest);
    EXPECT_LT(std::max(std::abs(smallest), std::abs(largest)), 1000.0);
  }
}
INSTANTIATE_TEST_SUITE_P(All, SmallNetworkTest, ::testing::ValuesIn(kSmall),
                         [](const auto& instance) {
                           return std::string(instance.param.name) + "_" +
                                  std::to_string(instance.index);
                         });

TEST(Builders, FoldedBatchNormComputesTheSame) {
  Parameters parameters = {{"image", 32}, {"width", 2}, {"classes", 7}};
  const auto plain = evaluate(build("resnet50", parameters));
  parameters["fold_bn"] = 1;
  const auto folded = evaluate(build("resnet50", parameters));
  for (std::size_t i = 0; i < plain[0].size(); ++i) EXPECT_NEAR(plain[0][i], folded[0][i], 1e-4);
}

TEST(Builders, EveryOneIsDescribed) {
  std::vector<std::string> names;
  for (const ModelBuilder& builder : builders()) {
    names.push_back(builder.name);
    EXPECT_FALSE(builder.description.empty());
    EXPECT_FALSE(builder.source.empty());
    for (const ModelParameter& parameter : builder.parameters) {
      EXPECT_FALSE(parameter.description.empty());
      EXPECT_LE(parameter.lowest, parameter.default_value);
      EXPECT_GE(parameter.highest, parameter.default_value);
    }
  }
  EXPECT_THAT(names, ::testing::ElementsAre("squeezenet", "inception_v3", "resnet50", "resnext50",
                                            "bert_base", "nasrnn", "swin"));
}

TEST(Builders, Errors) {
  const auto error = [](const std::string& name, const Parameters& parameters) {
    const auto graph = build_model(name, parameters);
    return graph ? "no error" : graph.error().to_string();
  };
  EXPECT_EQ(error("alexnet", {}),
            "there is no model 'alexnet' (the models are squeezenet, inception_v3, resnet50, "
            "resnext50, bert_base, nasrnn, swin)");
  EXPECT_EQ(error("nasrnn", {{"depth", 1}}),
            "nasrnn: there is no parameter 'depth' (the parameters are batch, steps, hidden)");
  EXPECT_EQ(error("nasrnn", {{"steps", 0}}),
            "nasrnn: the parameter steps = 0 is not between 1 and 10000");
  EXPECT_EQ(error("bert_base", {{"heads", 7}}),
            "bert_base: the parameter hidden is not a multiple of heads");
  EXPECT_EQ(error("swin", {{"image", 225}}),
            "swin: the parameter image is not a multiple of 32 windows");
  EXPECT_EQ(error("swin", {{"heads", 5}}), "swin: the parameter width is not a multiple of heads");
  EXPECT_THAT(error("inception_v3", {{"image", 40}}), ::testing::StartsWith("inception_v3: "));
  EXPECT_THAT(error("squeezenet", {{"batch", 1 << 20}, {"image", 1 << 20}}),
              ::testing::HasSubstr("too large"));
  EXPECT_THAT(error("nasrnn", {{"hidden", 1 << 20}}), ::testing::HasSubstr("too large"));
}

}  // namespace
}  // namespace soapstone::models
