// What makes a built-in network that network: equalities of its results that its authors' formulas
// imply.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tests/models/built_networks.h"

namespace soapstone::models {
namespace {

using Numbers = std::vector<double>;

core::TensorId named(const core::Graph& graph, const std::string& name) {
  for (const core::TensorId id : graph.inputs())
    if (graph.tensor(id).name == name) return id;
  throw std::runtime_error("no input " + name);
}

core::Dims dims_of(const core::Graph& graph, const std::string& name) {
  return *core::concrete(graph.tensor(named(graph, name)).type.shape);
}

/// Small numbers for all weights, the same for the same name and count.
InputValues weights_for(const BuiltNetwork& network) {
  InputValues values;
  for (const core::TensorId id : network.weights) {
    const core::Tensor& weight = network.graph.tensor(id);
    Numbers numbers(
        static_cast<std::size_t>(core::element_count(*core::concrete(weight.type.shape))));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::sin(static_cast<double>(i * i + weight.name.size())) * 0.5;
    values[id] = std::move(numbers);
  }
  return values;
}

void expect_near(const Numbers& a, const Numbers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9);
}

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

const ParameterValues kExperts = {{"layers", 1}, {"every", 1},      {"hidden", 8}, {"heads", 2},
                                  {"seq", 6},    {"feed", 6},       {"batch", 2},  {"experts", 3},
                                  {"top", 2},    {"vocabulary", 11}};

ParameterValues experts_with(const ParameterValues& changed) {
  ParameterValues all = kExperts;
  for (const auto& [name, value] : changed) all[name] = value;
  return all;
}

TEST(Moe, EqualExpertsAreOneExpert) {
  const auto one =
      built("moe", experts_with({{"experts", 1}, {"top", 1}}), {.weights = Weights::kInputs});
  const auto three =
      built("moe", experts_with({{"capacity_percent", 300}}), {.weights = Weights::kInputs});
  const InputValues single = weights_for(one);
  InputValues repeated = weights_for(three);
  for (const auto& [id, numbers] : single) {
    const std::string& name = one.graph.tensor(id).name;
    if (name.ends_with("/gate.weight")) continue;
    Numbers all = numbers;
    while (all.size() < repeated.at(named(three.graph, name)).size())
      all.insert(all.end(), numbers.begin(), numbers.end());
    repeated[named(three.graph, name)] = all;
  }
  ASSERT_EQ(dims_of(three.graph, "layer0/experts.feed1"), (core::Dims{3, 8, 6}));
  expect_near(evaluate(one.graph, single)[0], evaluate(three.graph, repeated)[0]);
}

TEST(Moe, OnlyFullExpertsTurnTokensAway) {
  const auto results = [](std::int64_t percent) {
    return evaluate(built("moe", experts_with({{"capacity_percent", percent}})).graph)[0];
  };
  // All tokens may choose one expert: three times the places are enough for that.
  EXPECT_EQ(results(300), results(600));
  EXPECT_NE(results(300), results(30));
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

}  // namespace
}  // namespace soapstone::models
