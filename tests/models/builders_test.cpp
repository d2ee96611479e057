// The built-in networks have the sizes that their authors published, and are the same every time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/built_networks.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

std::int64_t trained_parameters(const std::string& name, const ParameterValues& parameters = {}) {
  const BuiltNetwork network = built(name, parameters, {.weights = Weights::kInputs});
  std::int64_t count = 0;
  for (const core::TensorId id : network.weights)
    count += core::element_count(*core::concrete(network.graph.tensor(id).type.shape));
  return count;
}

TEST(Builders, PublishedParameterCounts) {
  EXPECT_EQ(trained_parameters("squeezenet"), 1'248'424);
  EXPECT_EQ(trained_parameters("resnet50"), 25'557'032);
  EXPECT_EQ(trained_parameters("resnext50"), 25'028'904);
  EXPECT_EQ(trained_parameters("inception_v3"), 23'834'568);
  // An encoder layer of BERT-base; 12 of them are 85.1 million.
  const ParameterValues one = {{"embeddings", 0}, {"layers", 1}},
                        two = {{"embeddings", 0}, {"layers", 2}};
  EXPECT_EQ(trained_parameters("bert_base", two) - trained_parameters("bert_base", one), 7'087'872);
  // Token, position and segment tables, and their layer norm.
  EXPECT_EQ(trained_parameters("bert_base", {{"layers", 1}}) - trained_parameters("bert_base", one),
            (30522 + 512 + 2 + 2) * 768);
  EXPECT_EQ(trained_parameters("nasrnn"), 16 * 512 * 512);
  EXPECT_EQ(trained_parameters("swin"), 28'288'354);
  EXPECT_EQ(trained_parameters("nasnet_a"), 5'289'978);
  EXPECT_EQ(trained_parameters("lenet"), 61'706);
  EXPECT_EQ(trained_parameters("alexnet"), 61'100'840);
  EXPECT_EQ(trained_parameters("resnet101"), 44'549'160);
  EXPECT_EQ(trained_parameters("mlp"), 784 * 512 + 512 + 512 * 10 + 10);
}

TEST(Builders, PublishedParameterCountsOfImageNetworks) {
  const auto vgg = [](std::int64_t layers) {
    return trained_parameters("vgg", {{"layers", layers}});
  };
  EXPECT_EQ(vgg(11), 132'863'336);
  EXPECT_EQ(vgg(13), 133'047'848);
  EXPECT_EQ(vgg(16), 138'357'544);
  EXPECT_EQ(vgg(19), 143'667'240);
  EXPECT_EQ(trained_parameters("resnet18"), 11'689'512);
  EXPECT_EQ(trained_parameters("resnet34"), 21'797'672);
  // ViT-B/16, ViT-L/16 and ViT-H/14.
  EXPECT_EQ(trained_parameters("vit"), 86'567'656);
  EXPECT_EQ(trained_parameters("vit", {{"layers", 24}, {"hidden", 1024}, {"heads", 16}}),
            304'326'632);
  EXPECT_EQ(
      trained_parameters("vit", {{"layers", 32}, {"hidden", 1280}, {"heads", 16}, {"patch", 14}}),
      632'045'800);
  // The networks for CIFAR-10 and for images of 256x256.
  EXPECT_EQ(trained_parameters("unet"), 35'746'307);
  EXPECT_EQ(trained_parameters("unet", {{"image", 256}, {"multipliers", 112244}}), 113'673'219);
}

TEST(Builders, ParameterCountsOfRecurrentNetworks) {
  // The large model of Zaremba et al.: 66 million.
  EXPECT_EQ(trained_parameters("rnnlm", {{"hidden", 1500}}), 66'022'000);
  const std::int64_t hidden = 1024, layer = 4 * hidden * (hidden + hidden + 1);
  EXPECT_EQ(trained_parameters("rnntc"), 18765 * hidden + 4 * layer + hidden * 2 + 2);
  EXPECT_EQ(trained_parameters("nmt"),
            hidden * 2 * 32000 + 4 * layer + 3 * hidden * hidden + hidden * 32000 + 32000);
  // 278 million, as counted by Shazeer et al., Outrageously Large Neural Networks, 2017, table 2.
  EXPECT_NEAR(static_cast<double>(trained_parameters("gnmt")), 278e6, 3e6);
  const std::int64_t wide = 4 * hidden * (2 * hidden + hidden + 1);
  EXPECT_EQ(trained_parameters("gnmt"), hidden * 2 * 32000 + (2 * layer + wide + 6 * layer) +
                                            8 * wide + (2 * hidden * hidden + 2 * hidden) +
                                            hidden * 32000 + 32000);
}

TEST(Builders, PublishedParameterCountsOfLargeTables) {
  // 540 million in tables of 33,762,577 rows, and both perceptrons.
  EXPECT_EQ(trained_parameters("dlrm", {{"rows", 1 << 24}}), 33'762'577 * 16 + 155'984 + 320'001);
}

TEST(Builders, PublishedParameterCountsOfLanguageModels) {
  // GPT-2 small and XL; GPT-3, of which the paper says 174,600 million.
  EXPECT_EQ(trained_parameters("gpt"), 124'439'808);
  EXPECT_EQ(trained_parameters("gpt", {{"layers", 48}, {"hidden", 1600}, {"heads", 25}}),
            1'557'611'200);
  EXPECT_NEAR(static_cast<double>(trained_parameters(
                  "gpt", {{"layers", 96}, {"hidden", 12288}, {"heads", 96}, {"positions", 2048}})),
              174.6e9, 0.05e9);
  EXPECT_EQ(trained_parameters("llama"), 44'831'232);
  EXPECT_EQ(trained_parameters("moe"), 58'882'048);
  // Experts add as many feed-forwards without bias, and a gate.
  EXPECT_EQ(trained_parameters("moe", {{"layers", 2}, {"experts", 8}}) -
                trained_parameters("moe", {{"layers", 2}, {"experts", 7}}),
            2 * 512 * 2048 + 512);
  // Llama 3 with 8, 70 and 405 billion.
  const auto llama = [](std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                        std::int64_t feed) {
    return trained_parameters("llama", {{"layers", layers},
                                        {"hidden", hidden},
                                        {"heads", heads},
                                        {"kv_heads", 8},
                                        {"feed", feed},
                                        {"vocabulary", 128256},
                                        {"seq", 8192}});
  };
  EXPECT_EQ(llama(32, 4096, 32, 14336), 8'030'261'248);
  EXPECT_EQ(llama(80, 8192, 64, 28672), 70'553'706'496);
  EXPECT_EQ(llama(126, 16384, 128, 53248), 405'853'388'800);
}

TEST(Builders, PublishedParameterCountsOfBert) {
  EXPECT_EQ(trained_parameters("bert_base"), 109'482'240);
  EXPECT_EQ(trained_parameters("bert_base", {{"layers", 24}, {"hidden", 1024}, {"heads", 16}}),
            335'141'888);
  // Without the pooler, with the layer that scores words.
  EXPECT_EQ(trained_parameters("bert"), 109'514'298);
  EXPECT_EQ(trained_parameters("bert_large"), 335'174'458);
  EXPECT_EQ(trained_parameters("bert", {{"layers", 24}, {"hidden", 1024}, {"heads", 16}}),
            trained_parameters("bert_large"));
}

TEST(Builders, PublishedParameterCountsOfMixtures) {
  EXPECT_EQ(trained_parameters("mixtral"), 123'490'816);
  EXPECT_EQ(trained_parameters("deepseek_moe"), 70'390'272);
  // Mixtral 8x7B and 8x22B.
  EXPECT_EQ(
      trained_parameters(
          "mixtral",
          {{"layers", 32}, {"hidden", 4096}, {"heads", 32}, {"kv_heads", 8}, {"feed", 14336}}),
      46'702'792'704);
  EXPECT_EQ(trained_parameters("mixtral", {{"layers", 56},
                                           {"hidden", 6144},
                                           {"heads", 48},
                                           {"kv_heads", 8},
                                           {"feed", 16384},
                                           {"vocabulary", 32768}}),
            140'630'071'296);
  // DeepSeekMoE 16B.
  EXPECT_EQ(trained_parameters("deepseek_moe", {{"layers", 28},
                                                {"hidden", 2048},
                                                {"heads", 16},
                                                {"kv_heads", 16},
                                                {"feed", 1408},
                                                {"experts", 64},
                                                {"top", 6},
                                                {"dense_feed", 10944},
                                                {"vocabulary", 102400}}),
            16'375'728'128);
}

struct Small {
  const char* name;
  ParameterValues parameters;
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
    {"mlp", {{"layers", 3}, {"inputs", 5}, {"hidden", 7}, {"batch", 2}}},
    {"gpt", {{"layers", 2}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"vocabulary", 11}}},
    {"gpt", {{"layers", 1}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"feed", 6}, {"tied", 0}}},
    {"llama",
     {{"layers", 2},
      {"hidden", 16},
      {"heads", 4},
      {"kv_heads", 2},
      {"feed", 6},
      {"seq", 5},
      {"vocabulary", 11}}},
    {"moe",
     {{"layers", 2},
      {"hidden", 8},
      {"heads", 2},
      {"seq", 6},
      {"vocabulary", 11},
      {"feed", 6},
      {"experts", 3},
      {"batch", 2}}},
    {"moe",
     {{"layers", 1},
      {"every", 1},
      {"hidden", 8},
      {"heads", 2},
      {"seq", 6},
      {"vocabulary", 11},
      {"feed", 6},
      {"experts", 4},
      {"top", 1}}},
    {"lenet", {{"batch", 2}}},
    {"alexnet", {{"image", 63}, {"width", 2}, {"hidden", 8}, {"classes", 7}}},
    {"resnet101", {{"image", 32}, {"width", 2}, {"classes", 7}}},
    {"rnntc", {{"batch", 2}, {"steps", 3}, {"hidden", 6}, {"vocabulary", 11}}},
    {"rnnlm", {{"batch", 2}, {"steps", 3}, {"hidden", 6}, {"vocabulary", 11}}},
    {"nmt", {{"batch", 2}, {"steps", 3}, {"hidden", 6}, {"vocabulary", 11}}},
    {"dlrm", {{"batch", 3}, {"tables", 4}, {"rows", 7}, {"width", 4}, {"hidden", 16}}},
    {"dlrm", {{"batch", 3}, {"tables", 2}, {"rows", 7}, {"lookups", 3}, {"hidden", 8}}},
    {"llama", {{"layers", 1}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"vocabulary", 11}}},
    {"nasnet_a", {{"image", 32}, {"repeats", 1}, {"width", 4}, {"stem", 3}, {"classes", 7}}},
    {"vgg", {{"layers", 11}, {"image", 32}, {"width", 2}, {"hidden", 8}, {"classes", 7}}},
    {"vgg", {{"layers", 19}, {"image", 64}, {"width", 2}, {"hidden", 8}, {"classes", 7}}},
    {"resnet18", {{"image", 32}, {"width", 2}, {"classes", 7}}},
    {"resnet34", {{"image", 32}, {"width", 2}, {"classes", 7}, {"fold_bn", 1}}},
    {"vit",
     {{"image", 12},
      {"patch", 4},
      {"layers", 2},
      {"hidden", 16},
      {"heads", 2},
      {"classes", 7},
      {"batch", 2}}},
    {"unet",
     {{"image", 8},
      {"attention", 4},
      {"width", 4},
      {"norm_groups", 2},
      {"multipliers", 122},
      {"blocks", 1},
      {"batch", 2}}},
    {"bert", {{"layers", 2}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"vocabulary", 11}}},
    {"bert_large",
     {{"layers", 1}, {"hidden", 8}, {"heads", 2}, {"seq", 5}, {"vocabulary", 11}, {"feed", 6}}},
    {"gnmt", {{"batch", 2}, {"layers", 3}, {"steps", 3}, {"hidden", 6}, {"vocabulary", 11}}},
    {"mixtral",
     {{"layers", 2},
      {"hidden", 8},
      {"heads", 2},
      {"kv_heads", 1},
      {"seq", 6},
      {"vocabulary", 11},
      {"feed", 6},
      {"experts", 3},
      {"batch", 2}}},
    {"deepseek_moe",
     {{"layers", 2},
      {"hidden", 8},
      {"heads", 2},
      {"kv_heads", 2},
      {"seq", 6},
      {"vocabulary", 11},
      {"feed", 6},
      {"dense_feed", 10},
      {"experts", 4},
      {"top", 3},
      {"batch", 2}}},
};

class SmallNetworkTest : public ::testing::TestWithParam<Small> {};

TEST_P(SmallNetworkTest, SameSeedSameNetwork) {
  const auto& [name, parameters] = GetParam();
  const auto a = built(name, parameters, {.seed = 1}).graph;
  EXPECT_EQ(a.hash(), built(name, parameters, {.seed = 1}).graph.hash());
  EXPECT_NE(a.hash(), built(name, parameters, {.seed = 2}).graph.hash());
}

TEST_P(SmallNetworkTest, IsAValidModel) {
  const auto& [name, parameters] = GetParam();
  const auto graph = built(name, parameters).graph;
  const std::string bytes = write_checked(graph, *new_header());
  const auto again = parse_onnx(bytes);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(again->opaque_nodes.empty());
}

std::vector<core::TensorId> given_tensors(const BuiltNetwork& network) {
  auto all = network.weights;
  all.insert(all.end(), network.statistics.begin(), network.statistics.end());
  return all;
}

TEST_P(SmallNetworkTest, WeightsAsInputsChangeNoResult) {
  const auto& [name, parameters] = GetParam();
  const BuiltNetwork with_weights = built(name, parameters);
  const BuiltNetwork without = built(name, parameters, {.weights = Weights::kInputs});
  const auto constants = given_tensors(with_weights), inputs = given_tensors(without);
  ASSERT_EQ(constants.size(), inputs.size());
  EXPECT_EQ(without.graph.inputs().size(), with_weights.graph.inputs().size() + inputs.size());
  std::map<core::TensorId, std::vector<double>> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const core::Tensor& constant = with_weights.graph.tensor(constants[i]);
    EXPECT_EQ(without.graph.tensor(inputs[i]).name, constant.name);
    EXPECT_EQ(without.graph.tensor(inputs[i]).type, constant.type);
    values[inputs[i]] = constant.value->to_doubles();
  }
  EXPECT_EQ(evaluate(without.graph, values), evaluate(with_weights.graph));
}

TEST_P(SmallNetworkTest, HasOneElementType) {
  const auto& [name, parameters] = GetParam();
  const BuiltNetwork network = built(name, parameters, {.type = core::DataType::kBFloat16});
  for (const core::TensorId id : given_tensors(network))
    EXPECT_EQ(network.graph.tensor(id).type.data_type, core::DataType::kBFloat16);
  const auto exact = evaluate(built(name, parameters).graph), rounded = evaluate(network.graph);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(network.graph.tensor(network.graph.outputs()[i]).type.data_type,
              core::DataType::kBFloat16);
    for (std::size_t k = 0; k < exact[i].size(); ++k)
      EXPECT_NEAR(rounded[i][k], exact[i][k], 0.05 * (1 + std::abs(exact[i][k])));
  }
}

TEST_P(SmallNetworkTest, ResultsAreFiniteAndVary) {
  const auto& [name, parameters] = GetParam();
  for (const auto& output : evaluate(built(name, parameters).graph)) {
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
  ParameterValues parameters = {{"image", 32}, {"width", 2}, {"classes", 7}};
  const auto plain = evaluate(built("resnet50", parameters).graph);
  parameters["fold_bn"] = 1;
  const auto folded = evaluate(built("resnet50", parameters).graph);
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
  EXPECT_THAT(names,
              ::testing::ElementsAre("squeezenet", "inception_v3", "resnet50", "resnext50",
                                     "bert_base", "nasrnn", "swin", "lenet", "alexnet", "resnet101",
                                     "mlp", "gpt", "llama", "moe", "rnntc", "rnnlm", "nmt", "dlrm",
                                     "nasnet_a", "vgg", "resnet18", "resnet34", "vit", "unet",
                                     "bert", "bert_large", "gnmt", "mixtral", "deepseek_moe"));
}

TEST(Builders, Errors) {
  const auto error = [](const std::string& name, const ParameterValues& parameters) {
    const auto graph = build_model(name, parameters);
    return graph ? "no error" : graph.error().to_string();
  };
  EXPECT_THAT(error("vgg17", {}),
              ::testing::StartsWith("there is no model 'vgg17' (the models are squeezenet, incep"));
  EXPECT_EQ(error("nasrnn", {{"depth", 1}}),
            "nasrnn: there is no parameter 'depth' (the parameters are batch, steps, hidden)");
  EXPECT_EQ(error("nasrnn", {{"steps", 0}}),
            "nasrnn: the parameter steps = 0 is not between 1 and 10000");
  EXPECT_EQ(error("bert_base", {{"heads", 7}}),
            "bert_base: the parameter hidden is not a multiple of heads");
  EXPECT_EQ(error("swin", {{"image", 225}}),
            "swin: the parameter image is not a multiple of 32 windows");
  EXPECT_EQ(error("swin", {{"heads", 5}}), "swin: the parameter width is not a multiple of heads");
  EXPECT_EQ(error("gpt", {{"seq", 1025}}), "gpt: the parameter seq is larger than positions");
  EXPECT_EQ(error("llama", {{"heads", 6}, {"hidden", 600}, {"kv_heads", 4}}),
            "llama: the parameter heads is not a multiple of kv_heads");
  EXPECT_EQ(error("llama", {{"hidden", 8}}),
            "llama: the parameter hidden is not an even multiple of heads");
  EXPECT_EQ(error("moe", {{"experts", 1}}), "moe: the parameter top is larger than experts");
  EXPECT_EQ(error("mixtral", {{"experts", 1}}),
            "mixtral: the parameter top is larger than experts");
  EXPECT_EQ(error("deepseek_moe", {{"kv_heads", 3}}),
            "deepseek_moe: the parameter heads is not a multiple of kv_heads");
  EXPECT_EQ(error("vgg", {{"layers", 14}}), "vgg: the parameter layers is not 11, 13, 16 or 19");
  EXPECT_EQ(error("vgg", {{"image", 225}}), "vgg: the parameter image is not a multiple of 32");
  EXPECT_EQ(error("vit", {{"image", 225}}), "vit: the parameter image is not a multiple of patch");
  EXPECT_EQ(error("gnmt", {{"layers", 1}}),
            "gnmt: the parameter layers = 1 is not between 2 and 1000");
  EXPECT_EQ(error("unet", {{"width", 33}, {"norm_groups", 3}}), "unet: the parameter width is odd");
  EXPECT_EQ(error("unet", {{"width", 80}}),
            "unet: the parameter width is not a multiple of norm_groups");
  EXPECT_EQ(error("unet", {{"multipliers", 102}}),
            "unet: the parameter multipliers has the digit 0");
  EXPECT_EQ(error("unet", {{"image", 36}}),
            "unet: the parameter image cannot be halved as often as multipliers says");
  EXPECT_EQ(error("dlrm", {{"hidden", 4}}), "dlrm: the parameter hidden is not a multiple of 8");
  EXPECT_THAT(error("lenet", {{"image", 8}}), ::testing::StartsWith("lenet: "));
  const auto typed = build_network("mlp", {}, {.type = core::DataType::kInt8});
  ASSERT_FALSE(typed.ok());
  EXPECT_EQ(typed.error().to_string(),
            "no network has weights of type i8 (the types are f32, f16 and bf16)");
  EXPECT_THAT(error("inception_v3", {{"image", 40}}), ::testing::StartsWith("inception_v3: "));
  EXPECT_THAT(error("squeezenet", {{"batch", 1 << 20}, {"image", 1 << 20}}),
              ::testing::HasSubstr("too large"));
  EXPECT_THAT(error("nasrnn", {{"hidden", 1 << 20}}), ::testing::HasSubstr("too large"));
}

}  // namespace
}  // namespace soapstone::models
