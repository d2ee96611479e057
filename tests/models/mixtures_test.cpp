// Networks of experts: equalities of its results with those of networks without.
#include <gtest/gtest.h>

#include <functional>

#include "tests/models/built_networks.h"

namespace soapstone::models {
namespace {

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

const ParameterValues kLlama = {{"layers", 1},      {"hidden", 8}, {"heads", 2},
                                {"kv_heads", 1},    {"feed", 6},   {"seq", 6},
                                {"vocabulary", 11}, {"batch", 2},  {"theta", 10000}};

ParameterValues llama_with(const ParameterValues& changed) {
  ParameterValues all = kLlama;
  for (const auto& [name, value] : changed) all[name] = value;
  return all;
}

/// The columns from `first` on, `count` of them, of each row of w.
Numbers columns(const Numbers& w, std::size_t width, std::size_t first, std::size_t count) {
  Numbers result;
  for (std::size_t row = 0; row < w.size(); row += width)
    for (std::size_t i = 0; i < count; ++i) result.push_back(w[row + first + i]);
  return result;
}

Numbers repeated(const Numbers& once, std::size_t times) {
  Numbers all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
  return all;
}

/// Values for a mixture: its weights are those of `llama` where they have the same name.
InputValues as_in_llama(const BuiltNetwork& mixture, const BuiltNetwork& llama,
                        const InputValues& values) {
  InputValues result = weights_for(mixture);
  for (const core::TensorId id : mixture.weights)
    for (const auto& [other, numbers] : values)
      if (llama.graph.tensor(other).name == mixture.graph.tensor(id).name) result[id] = numbers;
  return result;
}

TEST(Mixtral, EqualExpertsAreTheFeedForwardOfLlama) {
  const auto llama = built("llama", kLlama, {.weights = Weights::kInputs});
  const auto mixture = built("mixtral", llama_with({{"experts", 3}, {"capacity_percent", 150}}),
                             {.weights = Weights::kInputs});
  const InputValues values = weights_for(llama);
  InputValues mixed = as_in_llama(mixture, llama, values);
  const auto share = [&](const std::string& part, const std::string& of) {
    const Numbers& w = values.at(named(llama.graph, "layer0/feed/" + of + ".weight"));
    mixed[named(mixture.graph, "layer0/experts." + part)] = repeated(w, 3);
  };
  share("feed_gate", "gate");
  share("feed1", "up");
  share("feed2", "down");
  expect_near(evaluate(llama.graph, values)[0], evaluate(mixture.graph, mixed)[0]);
}

/// If all experts are chosen, their shares have the sum 1 as they are. With the shared expert
/// they are a feed-forward of twice the width.
TEST(Deepseek, SharedExpertsAddToTheOthers) {
  const auto llama = built("llama", llama_with({{"feed", 12}}), {.weights = Weights::kInputs});
  const auto mixture = built(
      "deepseek_moe",
      llama_with(
          {{"experts", 3}, {"top", 3}, {"shared", 1}, {"dense", 0}, {"capacity_percent", 100}}),
      {.weights = Weights::kInputs});
  const InputValues values = weights_for(llama);
  InputValues mixed = as_in_llama(mixture, llama, values);
  const auto share = [&](const std::string& part, const std::string& of) {
    const Numbers& w = values.at(named(llama.graph, "layer0/feed/" + of + ".weight"));
    // The matrix back has the numbers inside as its rows.
    const std::size_t width = of == "down" ? w.size() : 12;
    const Numbers left = columns(w, width, 0, width / 2),
                  right = columns(w, width, width / 2, width / 2);
    mixed[named(mixture.graph, "layer0/experts." + part)] = repeated(left, 3);
    mixed[named(mixture.graph, "layer0/shared/" + of + ".weight")] = right;
  };
  share("feed_gate", "gate");
  share("feed1", "up");
  share("feed2", "down");
  expect_near(evaluate(llama.graph, values)[0], evaluate(mixture.graph, mixed)[0]);
}

TEST(Deepseek, FirstLayersHaveOneFeedForward) {
  ParameterValues sizes = llama_with({{"layers", 2}, {"dense", 2}, {"dense_feed", 6}});
  const auto dense = built("deepseek_moe", sizes).graph;
  const auto llama = built("llama", llama_with({{"layers", 2}})).graph;
  EXPECT_EQ(evaluate(dense), evaluate(llama));
}

}  // namespace
}  // namespace soapstone::models
