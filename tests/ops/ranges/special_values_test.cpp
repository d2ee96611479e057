// Where NaN and infinities matter: each case stands beside a neighbor in which they do not.
#include "ops/ranges/special_values.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/graphs.h"

namespace soapstone::ops {
namespace {

core::TensorId named(const core::Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i)
    if (graph.contains(core::TensorId(i)) && graph.tensor(core::TensorId(i)).name == name)
      return core::TensorId(i);
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

/// Whether NaN and infinities matter in `t`, in a graph with these lines.
bool matter_in_t(const std::string& lines) {
  const core::Graph graph = graph_of("graph g\n" + lines);
  return SpecialValues(graph).matter_in(named(graph, "t"));
}

constexpr const char* kInputs = "  x: f32[4, 6]\n  d: f32[4, 6]\n  zero: f32[] = {0}\n"
                                "  one: f32[] = {1}\n  eps: f32[] = {0.00001}\n";

std::string with_inputs(const std::string& lines) { return kInputs + lines; }

TEST(SpecialValues, QuotientThatIsMadeFiniteMatters) {
  const std::string bounded = "  y = clip(t; min=0, max=6)\n  return y\n";
  EXPECT_TRUE(matter_in_t(with_inputs("  b = sub(d, one)\n  t = div(x, b)\n" + bounded)));
  EXPECT_FALSE(
      matter_in_t(with_inputs("  a = abs(d)\n  b = add(a, eps)\n  t = div(x, b)\n" + bounded)));
}

TEST(SpecialValues, QuotientThatGoesOnToTheResultDoesNot) {
  EXPECT_FALSE(matter_in_t(with_inputs("  t = div(x, d)\n  y = add(t, one)\n  return y\n")));
  EXPECT_TRUE(matter_in_t(with_inputs("  t = div(x, d)\n  y = tanh(t)\n  return y\n")));
}

TEST(SpecialValues, NanPassesWhereInfinitiesAreBounded) {
  // √ of a negative number is NaN, of which tanh makes nothing else.
  EXPECT_FALSE(matter_in_t(with_inputs("  t = sqrt(x)\n  y = tanh(t)\n  return y\n")));
  EXPECT_TRUE(matter_in_t(with_inputs("  t = log(x)\n  y = tanh(t)\n  return y\n")));
  EXPECT_FALSE(matter_in_t(with_inputs(
      "  q = mul(x, x)\n  p = add(q, one)\n  t = log(p)\n  y = tanh(t)\n  return y\n")));
}

TEST(SpecialValues, ExponentialsBelowTheMaximumAreBounded) {
  const std::string rest = "  s = reduce_sum(e; axes=[1], keep_dims=1)\n  t = div(e, s)\n"
                           "  y = less(t, one)\n  return y\n";
  EXPECT_FALSE(matter_in_t(with_inputs(
      "  m = reduce_max(x; axes=[1], keep_dims=1)\n  c = sub(x, m)\n  e = exp(c)\n" + rest)));
  EXPECT_TRUE(matter_in_t(with_inputs("  e = exp(x)\n" + rest)));
  // The maximum of other rows bounds nothing.
  EXPECT_TRUE(matter_in_t(with_inputs(
      "  m = reduce_max(d; axes=[1], keep_dims=1)\n  c = sub(x, m)\n  e = exp(c)\n" + rest)));
  EXPECT_TRUE(matter_in_t(with_inputs(
      "  m = reduce_max(x; axes=[0], keep_dims=1)\n  c = sub(x, m)\n  e = exp(c)\n" + rest)));
  EXPECT_FALSE(
      matter_in_t(with_inputs("  t = softmax(x; axis=1)\n  y = less(t, one)\n  return y\n")));
}

TEST(SpecialValues, NormsWithAnEpsilonAreFinite) {
  const auto norm = [](const std::string& shifted) {
    return with_inputs("  m = reduce_mean(x; axes=[1], keep_dims=1)\n  c = sub(x, m)\n"
                       "  q = mul(c, c)\n  v = reduce_mean(q; axes=[1], keep_dims=1)\n  w = " +
                       shifted + "\n  r = sqrt(w)\n  t = div(c, r)\n  y = tanh(t)\n  return y\n");
  };
  EXPECT_FALSE(matter_in_t(norm("add(v, eps)")));
  EXPECT_TRUE(matter_in_t(norm("add(v, zero)")));
}

TEST(SpecialValues, MaskedMeansMatterWhereARowMayBeAllPadding) {
  const auto mean = [](const std::string& count) {
    return "  x: f32[2, 4, 6]\n  mask: f32[2, 4, 1]\n  zero: f32[] = {0}\n  one: f32[] = {1}\n"
           "  p = mul(x, mask)\n  s = reduce_sum(p; axes=[1], keep_dims=0)\n"
           "  n = reduce_sum(mask; axes=[1], keep_dims=0)\n  k = " +
           count + "\n  t = div(s, k)\n  y = sigmoid(t)\n  return y\n";
  };
  EXPECT_TRUE(matter_in_t(mean("add(n, zero)")));
  EXPECT_FALSE(matter_in_t(mean("max(n, one)")));
}

TEST(SpecialValues, TestsOfInputsMatterThoughTheyAreTakenToBeFinite) {
  const auto with_t = [](const std::string& lines) {
    return matter_in_t("  t: f32[4]\n  zero: f32[] = {0}\n  low: f32[] = {0.5}\n" + lines);
  };
  EXPECT_TRUE(with_t("  e = equal(t, t)\n  y = where(e, t, zero)\n  return y\n"));
  EXPECT_TRUE(
      with_t("  p = mul(t, zero)\n  e = equal(p, zero)\n  y = where(e, t, zero)\n  return y\n"));
  EXPECT_TRUE(
      with_t("  d = sub(t, t)\n  e = equal(d, zero)\n  y = where(e, t, zero)\n  return y\n"));
  EXPECT_TRUE(with_t("  big: f32[] = {1e38}\n  a = abs(t)\n  e = less(a, big)\n"
                     "  y = where(e, t, zero)\n  return y\n"));
  EXPECT_TRUE(with_t("  e = is_nan(t)\n  y = where(e, zero, t)\n  return y\n"));
  EXPECT_TRUE(with_t("  e = is_inf(t)\n  y = where(e, zero, t)\n  return y\n"));
  EXPECT_FALSE(with_t("  e = less(t, low)\n  y = where(e, t, zero)\n  return y\n"));
  EXPECT_FALSE(with_t("  e = equal(t, low)\n  y = where(e, t, zero)\n  return y\n"));
}

TEST(SpecialValues, WhatATestHasClearedIsFinite) {
  const auto cleared = [](const std::string& test, const std::string& choice) {
    return with_inputs("  n = div(x, d)\n" + test + "  t = " + choice +
                       "\n  y = less(t, one)\n  return y\n");
  };
  EXPECT_FALSE(matter_in_t(
      cleared("  e = is_nan(n)\n  f = is_inf(n)\n  g = max(e, f)\n", "where(g, zero, n)")));
  EXPECT_TRUE(matter_in_t(cleared("  e = is_nan(n)\n", "where(e, zero, n)")));
  // Infinities are left.
  EXPECT_TRUE(matter_in_t(cleared("  e = equal(n, n)\n", "where(e, n, zero)")));
  EXPECT_FALSE(matter_in_t(
      cleared("  big: f32[] = {1e30}\n  a = abs(n)\n  e = less(a, big)\n", "where(e, n, zero)")));
  EXPECT_FALSE(matter_in_t(cleared("  big: f32[] = {1e30}\n  a = abs(n)\n  e = less(a, big)\n"
                                   "  f = not(e)\n",
                                   "where(f, zero, n)")));
  EXPECT_TRUE(matter_in_t(
      cleared("  big: f32[] = {1e30}\n  a = abs(n)\n  e = less(a, big)\n", "where(e, zero, n)")));
}

TEST(SpecialValues, ProductsOfOrdinaryNumbersAreFiniteUnlessConstantsAreHuge) {
  const auto product = [](const std::string& factor) {
    return with_inputs("  big: f32[] = {1e30}\n  t = mul(x, " + factor +
                       ")\n  y = tanh(t)\n  return y\n");
  };
  EXPECT_TRUE(matter_in_t(product("big")));
  EXPECT_FALSE(matter_in_t(product("d")));
}

TEST(SpecialValues, MasksThatAreInfiniteMatterUpToTheSoftmax) {
  const auto masked = [](const std::string& number) {
    return with_inputs("  m: bool[4, 6]\n  low: f32[] = {" + number +
                       "}\n  t = where(m, x, low)\n  y = softmax(t; axis=1)\n  return y\n");
  };
  EXPECT_TRUE(matter_in_t(masked("-inf")));
  EXPECT_FALSE(matter_in_t(masked("-3.4e38")));
}

TEST(SpecialValues, AveragesOverPlacesInAnImageAreFinite) {
  EXPECT_FALSE(matter_in_t("  x: f32[1, 2, 8, 8]\n  t = average_pool(x; kernel=[3, 3], "
                           "strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=0)\n"
                           "  y = tanh(t)\n  return y\n"));
}

TEST(SpecialValues, HalfPrecisionLosesSmallDivisors) {
  const auto quotient = [](const std::string& type) {
    return "  x: " + type + "[4]\n  d: " + type + "[4]\n  eps: " + type +
           "[] = {1e-12}\n  a = abs(d)\n  b = max(a, eps)\n  t = div(x, b)\n"
           "  y = tanh(t)\n  return y\n";
  };
  EXPECT_TRUE(matter_in_t(quotient("f16")));
  EXPECT_FALSE(matter_in_t(quotient("f32")));
}

TEST(SpecialValues, PartsKnowWhatTheWholeKnows) {
  const core::Graph graph = graph_of(
      "graph g\n" +
      with_inputs(
          "  t = div(x, d)\n  u = add(t, one)\n  y = tanh(u)\n  z = relu(x)\n  return y, z\n"));
  const SpecialValues whole(graph);
  EXPECT_FALSE(whole.none());
  const SpecialValues part = whole.of_part({named(graph, "u"), named(graph, "x")});
  EXPECT_TRUE(part.matter_in(core::TensorId(0)));
  EXPECT_FALSE(part.matter_in(core::TensorId(1)));
  EXPECT_TRUE(part.matter_in(core::TensorId(2))) << "a tensor that is new";
  const SpecialValues other = whole.of_part({named(graph, "z"), named(graph, "x")});
  EXPECT_TRUE(other.none());
  EXPECT_FALSE(other.matter_in(core::TensorId(2)));
}

TEST(SpecialValues, ResultsOfABodyMatterWhereTheyMayBeSpecial) {
  const core::Graph graph = graph_of("graph g\n" + with_inputs("  t = div(x, d)\n  return t\n"));
  const core::TensorId t = named(graph, "t");
  EXPECT_FALSE(SpecialValues(graph).matter_in(t));
  EXPECT_TRUE(SpecialValues(graph, {.results_matter = true}).matter_in(t));
  const core::Graph sum = graph_of("graph g\n" + with_inputs("  t = add(x, d)\n  return t\n"));
  EXPECT_FALSE(SpecialValues(sum, {.results_matter = true}).matter_in(named(sum, "t")));
  EXPECT_TRUE(SpecialValues(sum, {.special_inputs = {true, false}, .results_matter = true})
                  .matter_in(named(sum, "t")));
}

TEST(SpecialValues, SpecialInputsOfABodyMatterWhereTheyAreMadeFinite) {
  const core::Graph graph =
      graph_of("graph g\n" + with_inputs("  t = add(x, d)\n  y = tanh(t)\n  return y\n"));
  const core::TensorId t = named(graph, "t");
  EXPECT_FALSE(SpecialValues(graph).matter_in(t));
  const SpecialValues inside(graph, {.special_inputs = {true, false}});
  EXPECT_TRUE(inside.matter_in(t));
  EXPECT_TRUE(inside.again(graph).matter_in(t)) << "rewriting forgets where the graph stands";
}

TEST(SpecialValues, TestedResultsOfABodyAreTestedBackToTheInputs) {
  const core::Graph graph = graph_of("graph g\n" + with_inputs("  t = add(x, d)\n  return t\n"));
  EXPECT_FALSE(SpecialValues(graph).matter_in(named(graph, "x")));
  EXPECT_TRUE(SpecialValues(graph, {.tested_results = {true}}).matter_in(named(graph, "x")));
}

TEST(SpecialValues, WhatIterationsLetGrowIsNotOrdinary) {
  const auto stays_ordinary = [](const std::string& line) -> bool {
    const core::Graph graph = graph_of("graph g\n" + with_inputs(line + "  return t\n"));
    return results_that_stay_ordinary(graph, {}, {true, false}).front();
  };
  EXPECT_TRUE(stays_ordinary("  t = tanh(x)\n"));
  EXPECT_FALSE(stays_ordinary("  t = exp(x)\n"));
  EXPECT_FALSE(stays_ordinary("  t = mul(x, d)\n"));
  // A state that is added to grows too slowly to matter; one that is doubled does not.
  EXPECT_TRUE(stays_ordinary("  t = add(x, d)\n"));
  EXPECT_FALSE(stays_ordinary("  t = add(x, x)\n"));
}

}  // namespace
}  // namespace soapstone::ops
