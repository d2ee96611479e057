// Minimization: which equalities imply others, and how general a rule becomes.
#include "generator/selection/minimize.h"

#include <gtest/gtest.h>

#include "generator/generalization/candidates.h"
#include "generator/generalization/generalize.h"
#include "generator/selection/reduce.h"
#include "generator/sides/parts_as_results.h"
#include "generator_fixture.h"

namespace soapstone::generator {
namespace {

/// The two sides of a rule as text.
Sides sides(const std::string& body) {
  const auto file = rules::parse_rules("rule r\n" + body);
  EXPECT_TRUE(file) << file.error().to_string();
  return {file->rules[0].source, file->rules[0].target};
}

RuleCandidate candidate(const std::string& body) {
  auto made = candidate_of(sides(body));
  EXPECT_TRUE(made) << body;
  EXPECT_FALSE(made->examples.empty()) << body;
  return *std::move(made);
}

std::vector<RuleCandidate> minimized(std::vector<RuleCandidate> candidates,
                                     const MinimizeOptions& options = {}) {
  const core::StopToken stop;
  return minimize(std::move(candidates), options, core::silent(), stop);
}

const std::string kAssociative = "  x: [n, n]  y: [n, n]  z: [n, n]\n"
                                 "  source\n    t = add(x, y)\n    r = add(t, z)\n"
                                 "  target\n    u = add(y, z)\n    r = add(x, u)\n";
const std::string kPermuted = "  x: [n, n]  y: [n, n]  z: [n, n]\n"
                              "  source\n    t = add(x, y)\n    r = add(t, z)\n"
                              "  target\n    u = add(z, x)\n    r = add(u, y)\n";
const std::string kReluTwice = "  x: [n, n]\n"
                               "  source\n    t = relu(x)\n    y = relu(t)\n"
                               "  target\n    y = relu(x)\n";
const std::string kReluThrice = "  x: [n, n]\n"
                                "  source\n    t = relu(x)\n    u = relu(t)\n    y = relu(u)\n"
                                "  target\n    y = relu(x)\n";
const std::string kReluOfTranspose =
    "  x: [n, n]\n"
    "  source\n    t = relu(x)\n    y = transpose(t; perm=[1, 0])\n"
    "  target\n    u = transpose(x; perm=[1, 0])\n    y = relu(u)\n";

TEST(Minimize, DropsWhatFollows) {
  const auto kept = minimized({candidate(kReluThrice), candidate(kReluTwice)});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].weight, 3u);
}

TEST(Minimize, KeepsWhatDoesNotFollow) {
  const auto kept =
      minimized({candidate(kReluOfTranspose), candidate(kReluTwice), candidate(kAssociative)});
  EXPECT_EQ(kept.size(), 3u);
}

TEST(Minimize, AssociativityGivesThePermutedForms) {
  const auto kept = minimized({candidate(kPermuted), candidate(kAssociative)});
  EXPECT_EQ(kept.size(), 1u);
}

TEST(Minimize, WhatIsNotAdmittedDerivesNothing) {
  MinimizeOptions options;
  int asked = 0;
  options.admit = [&](std::span<RuleCandidate* const> candidates) {
    for (RuleCandidate* c : candidates) {
      ++asked;
      if (c->weight == 3) c->forward = c->backward = std::nullopt;
    }
  };
  const auto kept = minimized({candidate(kReluThrice), candidate(kReluTwice)}, options);
  EXPECT_EQ(asked, 2);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].weight, 4u);
}

TEST(Minimize, LawsInTheBackgroundAreUsedAndNotKept) {
  MinimizeOptions options;
  options.background = candidate(kReluTwice).forward->instances;
  EXPECT_TRUE(minimized({candidate(kReluThrice)}, options).empty());
}

TEST(Minimize, WhatIsLeftOutFollowsAtAllRanks) {
  const Enumeration enumeration = enumerate_theme("broadcasting", 2);
  Reducer reducer({});
  reducer.add(enumeration);
  const auto candidates = reducer.take_kept();
  rules::SaturationRules rules(reducer.constant_laws());
  for (const RuleCandidate& kept : minimized(candidates)) add_directions(kept, rules);
  std::size_t further = 0;
  for (const RuleCandidate& candidate : candidates)
    for (const Sides& example : further_examples(candidate)) {
      ++further;
      EXPECT_TRUE(derivable(example.source, example.target, rules))
          << (candidate.forward ? candidate.forward : candidate.backward)->text
          << core::print(example.source);
    }
  EXPECT_GT(further, 0u);
}

TEST(Generalize, DimensionsThatNeedNotBeEqualAreDifferent) {
  const std::string body = "  x: [n, n]  a: [n, n]  b: [n, n]\n"
                           "  source\n    t = matmul(x, a)\n    y = matmul(t, b)\n"
                           "  target\n    u = matmul(a, b)\n    y = matmul(x, u)\n";
  const auto general = generalized(sides(body));
  ASSERT_TRUE(general) << general.error().to_string();
  EXPECT_EQ(general->source.symbols().size(), 4u);
  const RuleCandidate made = candidate(body);
  for (const rules::Rule& rule : made.forward->instances) EXPECT_TRUE(rule.guard.empty());
}

TEST(Generalize, SizesInAttributesToo) {
  const auto general =
      generalized(sides("  x: [n, n]  a: [n, n]  b: [n, n]\n"
                        "  source\n    y = matmul(x, a)\n    z = matmul(x, b)\n"
                        "  target\n    ab = concat(a, b; axis=1)\n    yz = matmul(x, ab)\n"
                        "    y, z = split(yz; axis=1, sizes=[n, n])\n"));
  ASSERT_TRUE(general) << general.error().to_string();
  EXPECT_EQ(general->source.symbols().size(), 4u);
}

TEST(Candidates, NoDirectionInWhichAnInputIsUnknown) {
  const auto made =
      candidate("  x: [n, n]\n"
                "  source\n    z = full(; shape=[n, n], value=0.0)\n    y = mul(x, z)\n"
                "  target\n    y = full(; shape=[n, n], value=0.0)\n");
  EXPECT_TRUE(made.forward);
  EXPECT_FALSE(made.backward);
}

TEST(Candidates, NoDirectionThatOnlyAddsWork) {
  const auto made = candidate(kReluTwice);
  EXPECT_TRUE(made.forward);
  EXPECT_FALSE(made.backward);
}

TEST(Candidates, OneDirectionOfARuleThatIsItsOwnReverse) {
  const auto either = candidate(kPermuted);
  EXPECT_NE(either.forward.has_value(), either.backward.has_value());
  const auto both = candidate("  x: [n, n]  a: [n, n]  b: [n, n]\n"
                              "  source\n    t = matmul(x, a)\n    y = matmul(t, b)\n"
                              "  target\n    u = matmul(a, b)\n    y = matmul(x, u)\n");
  EXPECT_TRUE(both.forward && both.backward);
}

TEST(Candidates, InputsAreNamedByWhatOperatorsReadThemAs) {
  const auto made =
      candidate("  p: [b, c, h, w]  q: [c, c, 3, 3]  r: []\n"
                "  source\n    t = mul(r, p)\n    y = conv(t, q; pads=[1, 1, 1, 1])\n"
                "  target\n    u = conv(p, q; pads=[1, 1, 1, 1])\n    y = mul(r, u)\n");
  const core::Graph& side = made.forward->instances[0].source;
  std::vector<std::string> names;
  for (core::TensorId id : side.inputs()) names.push_back(side.tensor(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "w", "s"}));
}

TEST(Candidates, ElementwiseLawsHoldForAllRanks) {
  const auto made = candidate(kAssociative);
  EXPECT_NE(made.forward->text.find("for A in ranks(0..4)"), std::string::npos);
  EXPECT_EQ(made.forward->instances.size(), 5u);
}

TEST(Candidates, DimensionsBeforeAndBehindAnAxisAreOpen) {
  const auto made =
      candidate("  x: [n, n]  y: [n, n]\n"
                "  source\n    t = concat(x, y; axis=0)\n    r = relu(t)\n"
                "  target\n    u = relu(x)\n    v = relu(y)\n    r = concat(u, v; axis=0)\n");
  EXPECT_NE(made.forward->text.find("x1: [A.., n0, B..]"), std::string::npos);
  EXPECT_NE(made.forward->text.find("axis=|A|)"), std::string::npos);
  EXPECT_EQ(made.forward->instances.size(), 10u);
}

TEST(Candidates, NumbersOfWindowsBecomeSymbols) {
  const auto made =
      candidate("  x: [b, c, h, w]  k: [c, c, 3, 3]  s: []\n"
                "  source\n    t = mul(s, x)\n    y = conv(t, k; pads=[1, 1, 1, 1])\n"
                "  target\n    u = conv(x, k; pads=[1, 1, 1, 1])\n    y = mul(s, u)\n");
  EXPECT_EQ(made.forward->instances[0].parameters.size(), 4u);  // pads, which alone are written
}

TEST(Candidates, ButNotWhereTheLawNeedsTheNumbers) {
  const auto made = candidate("  x: [b, c, h, w]  k: [c, c, 1, 3]\n"
                              "  source\n    f = enlarge(k; kernel=[3, 3])\n"
                              "    y = conv(x, f; pads=[1, 1, 1, 1])\n"
                              "  target\n    y = conv(x, k; pads=[0, 1, 0, 1])\n");
  EXPECT_TRUE(made.forward->instances[0].parameters.empty());
  // Less general forms come after it, until there are none.
  const auto next = candidate_of(made.found, made.form + 1);
  ASSERT_TRUE(next);
  EXPECT_GT(next->form, made.form);
  EXPECT_FALSE(candidate_of(made.found, 100));
}

TEST(PartsAsResults, OfAConcat) {
  const auto found = parts_as_results(
      sides("  x: [n, n]  a: [n, n]  b: [n, n]\n"
            "  source\n    y = matmul(x, a)\n    z = matmul(x, b)\n    r = concat(y, z; axis=1)\n"
            "  target\n    ab = concat(a, b; axis=1)\n    r = matmul(x, ab)\n"));
  ASSERT_EQ(found.size(), 1u);
  const auto made = candidate_of(found[0]);
  ASSERT_TRUE(made && made->forward);
  const rules::Rule& rule = made->forward->instances[0];
  EXPECT_EQ(rule.source.outputs().size(), 2u);
  EXPECT_EQ(rule.target.node(rule.target.order().back()).op->name, "split");
  EXPECT_EQ(rule.source.symbols().size(), 4u);
}

}  // namespace
}  // namespace soapstone::generator
