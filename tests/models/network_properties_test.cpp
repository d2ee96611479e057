// What makes a built-in network that network: equalities of its results that its authors' formulas
// imply.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/models/built_networks.h"

namespace soapstone::models {
namespace {

class CausalTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CausalTest, NoTokenSeesALaterOne) {
  constexpr std::size_t kTokens = 5, kVocabulary = 11, kChanged = 3;
  const auto network = built(
      GetParam(),
      {{"layers", 2}, {"hidden", 16}, {"heads", 4}, {"seq", kTokens}, {"vocabulary", kVocabulary}});
  const core::TensorId ids = named(network.graph, "token_ids");
  const auto before = evaluate(network.graph, {{ids, {1, 2, 3, 4, 5}}})[0];
  const auto after = evaluate(network.graph, {{ids, {1, 2, 3, 9, 5}}})[0];
  for (std::size_t t = 0; t < kTokens; ++t) {
    bool same = true;
    for (std::size_t i = t * kVocabulary; i < (t + 1) * kVocabulary; ++i)
      same = same && before[i] == after[i];
    EXPECT_EQ(same, t < kChanged) << t;
  }
}
INSTANTIATE_TEST_SUITE_P(Networks, CausalTest, ::testing::Values("gpt", "llama"));

/// The columns of w[rows, heads·size], each head `times` times in a row.
Numbers repeat_heads(const Numbers& w, std::size_t rows, std::size_t heads, std::size_t times) {
  const std::size_t size = w.size() / rows / heads;
  Numbers result;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t h = 0; h < heads * times; ++h)
      for (std::size_t i = 0; i < size; ++i)
        result.push_back(w[(r * heads + h / times) * size + i]);
  return result;
}

TEST(Llama, SharedKeysAreRepeatedKeys) {
  ParameterValues sizes = {{"layers", 1}, {"hidden", 16}, {"heads", 4}, {"kv_heads", 2},
                           {"feed", 6},   {"seq", 5},     {"batch", 2}, {"vocabulary", 11}};
  const auto shared = built("llama", sizes, {.weights = Weights::kInputs});
  sizes["kv_heads"] = 4;
  const auto full = built("llama", sizes, {.weights = Weights::kInputs});
  const InputValues values = weights_for(shared);
  InputValues repeated;
  for (const auto& [id, numbers] : values) {
    const std::string& name = shared.graph.tensor(id).name;
    const bool repeats = name.ends_with("/key.weight") || name.ends_with("/value.weight");
    repeated[named(full.graph, name)] = repeats ? repeat_heads(numbers, 16, 2, 2) : numbers;
  }
  expect_near(evaluate(shared.graph, values)[0], evaluate(full.graph, repeated)[0]);
}

TEST(Llama, AnglesAreThoseOfThePaper) {
  // One layer, one head of two numbers, tokens at positions 0 and 1: the score of the second with
  // the first is that of vectors turned by an angle of 1 radian.
  const auto network = built("llama",
                             {{"layers", 1},
                              {"hidden", 2},
                              {"heads", 1},
                              {"kv_heads", 1},
                              {"feed", 1},
                              {"seq", 2},
                              {"vocabulary", 2}},
                             {.weights = Weights::kInputs});
  const core::Graph& graph = network.graph;
  InputValues values;
  for (const core::TensorId id : network.weights) {
    const auto count = core::element_count(*core::concrete(graph.tensor(id).type.shape));
    values[id] = Numbers(static_cast<std::size_t>(count), 0.0);
  }
  const auto set = [&](const std::string& name, Numbers numbers) {
    ASSERT_EQ(numbers.size(), values.at(named(graph, name)).size());
    values[named(graph, name)] = std::move(numbers);
  };
  const Numbers unit = {1, 0, 0, 1};
  set("embed/token.table", {1, 0, 0, 1});
  set("layer0/norm1.scale", {1, 1});
  for (const char* part : {"query", "key", "value", "output"})
    set(std::string("layer0/attention/") + part + ".weight", unit);
  set("norm.scale", {1, 1});
  set("head.weight", unit);
  values[named(graph, "token_ids")] = {0, 1};
  // Normalized tokens are (√2, 0) and (0, √2). Turned by 1 radian the second is √2(−sin 1, cos 1).
  const double scale = 2 / std::sqrt(2.0), root = std::sqrt(2.0);
  const double first = std::exp(scale * -std::sin(1.0)), second = std::exp(scale);
  const double x = root * first / (first + second), y = 1 + root * second / (first + second);
  const double norm = std::sqrt((x * x + y * y) / 2);
  const auto scores = evaluate(graph, values)[0];
  EXPECT_NEAR(scores[2], x / norm, 1e-4);
  EXPECT_NEAR(scores[3], y / norm, 1e-4);
}

TEST(Lstm, IsTheFormulaOfItsAuthors) {
  const auto network =
      built("rnnlm", {{"layers", 1}, {"steps", 2}, {"hidden", 1}, {"vocabulary", 2}},
            {.weights = Weights::kInputs});
  const core::Graph& graph = network.graph;
  InputValues values;
  const auto set = [&](const std::string& name, Numbers numbers) {
    values[named(graph, name)] = std::move(numbers);
  };
  const Numbers w = {0.3, -0.2, 0.5, 0.9}, u = {-0.4, 0.6, 0.1, 0.7}, b = {0.2, 0.1, -0.3, 0.4};
  set("token.table", {0.8, -0.5});
  set("layer0.input", w);
  set("layer0.state", u);
  set("layer0.bias", b);
  set("head.weight", {1, 2});
  set("head.bias", {0, 0});
  set("token_ids", {0, 1});
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  double hidden = 0, cell = 0;
  Numbers wanted;
  for (const double x : {0.8, -0.5}) {
    const auto gate = [&](std::size_t i) { return w[i] * x + u[i] * hidden + b[i]; };
    cell = sigmoid(gate(1)) * cell + sigmoid(gate(0)) * std::tanh(gate(3));
    hidden = sigmoid(gate(2)) * std::tanh(cell);
    wanted.insert(wanted.end(), {hidden, 2 * hidden});
  }
  expect_near(evaluate(graph, values)[0], wanted);
}

TEST(Dlrm, FeaturesInteractInPairs) {
  // One category and the numbers: their inner product is the only pair.
  const auto network = built("dlrm", {{"tables", 1}, {"rows", 2}, {"width", 2}, {"hidden", 8}},
                             {.weights = Weights::kInputs});
  const InputValues plain = weights_for(network);
  const core::TensorId table = named(network.graph, "category0.table");
  const core::TensorId top = named(network.graph, "top0.weight");
  ASSERT_EQ(dims_of(network.graph, "top0.weight"), (core::Dims{3, 8}));
  InputValues changed = plain;
  for (double& number : changed[table]) number *= 2;
  const auto results = [&](InputValues values, double factor) {
    for (std::size_t i = 16; i < 24; ++i) values[top][i] *= factor;
    return evaluate(network.graph, values)[0];
  };
  EXPECT_NE(results(plain, 1), results(changed, 1));
  expect_near(results(plain, 2), results(changed, 1));
}

TEST(Gnmt, ReadsTheWholeSourceAndNoLaterTarget) {
  constexpr std::size_t kSteps = 4, kVocabulary = 11, kChanged = 2;
  const auto network =
      built("gnmt", {{"layers", 3}, {"hidden", 6}, {"steps", kSteps}, {"vocabulary", kVocabulary}});
  const core::TensorId source = named(network.graph, "source_ids"),
                       target = named(network.graph, "target_ids");
  const auto scores = [&](const Numbers& from, const Numbers& to) {
    return evaluate(network.graph, {{source, from}, {target, to}})[0];
  };
  const Numbers before = scores({1, 2, 3, 4}, {1, 2, 3, 4});
  const Numbers others = scores({1, 2, 3, 4}, {1, 2, 9, 4});
  const Numbers first = scores({9, 2, 3, 4}, {1, 2, 3, 4});
  const Numbers last = scores({1, 2, 3, 9}, {1, 2, 3, 4});
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i] == others[i], i / kVocabulary < kChanged) << i;
    EXPECT_NE(before[i], first[i]) << i;
    EXPECT_NE(before[i], last[i]) << i;
  }
}

TEST(Vit, WithoutPositionsPatchesHaveNoOrder) {
  const auto network = built(
      "vit",
      {{"image", 4}, {"patch", 2}, {"layers", 2}, {"hidden", 8}, {"heads", 2}, {"classes", 3}},
      {.weights = Weights::kInputs});
  InputValues values = weights_for(network);
  const core::TensorId image = named(network.graph, "image");
  const core::TensorId positions = named(network.graph, "embed/position.table");
  Numbers pixels(48), swapped(48);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::cos(static_cast<double>(i));
  // The upper two rows of patches stand below.
  for (std::size_t i = 0; i < pixels.size(); ++i) swapped[i] = pixels[i / 16 * 16 + (i + 8) % 16];
  const auto scores = [&](const Numbers& of) {
    values[image] = of;
    return evaluate(network.graph, values)[0];
  };
  EXPECT_NE(scores(pixels), scores(swapped));
  std::ranges::fill(values[positions], 0.0);
  expect_near(scores(pixels), scores(swapped));
}

TEST(Unet, PredictsAnImageThatDependsOnTheTime) {
  const auto network = built("unet", {{"image", 8},
                                      {"attention", 4},
                                      {"width", 4},
                                      {"norm_groups", 2},
                                      {"multipliers", 12},
                                      {"batch", 2}});
  const core::Graph& graph = network.graph;
  EXPECT_EQ(graph.tensor(graph.outputs()[0]).type, graph.tensor(named(graph, "image")).type);
  // Images of a batch are independent of each other, in their times as well.
  const core::TensorId time = named(graph, "time");
  const Numbers early = evaluate(graph, {{time, {1, 1}}})[0];
  const Numbers late = evaluate(graph, {{time, {1, 900}}})[0];
  const std::size_t half = early.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    EXPECT_EQ(early[i], late[i]);
    EXPECT_NE(early[half + i], late[half + i]);
  }
}

}  // namespace
}  // namespace soapstone::models
