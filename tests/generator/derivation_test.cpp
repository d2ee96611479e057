// Derivations: which equalities, and which rules, follow from others.
#include "generator/selection/derivation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/text/text.h"
#include "generator/selection/derivability.h"
#include "generator/sides/rule_instances.h"
#include "ops/definition/registry.h"
#include "rules/taso/import_taso.h"
#include "tests/support/rules.h"

namespace soapstone::generator {
namespace {

using testing::SizeIs;

const std::vector<rules::Rule>& shipped_rules() {
  static const std::vector<rules::Rule> kRules = [] {
    auto file = rules::read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
    CHECK(file.ok(), file.error().to_string());
    return std::move(file->rules);
  }();
  return kRules;
}

/// Rules that the shipped ones imply, one after the other under its name.
constexpr std::string_view kConsequences = R"(rule associate_four
  a: [m, k]   b: [k, l]   c: [l, n]   d: [n, p]
  source
    ab = matmul(a, b)
    abc = matmul(ab, c)
    y = matmul(abc, d)
  target
    cd = matmul(c, d)
    bcd = matmul(b, cd)
    y = matmul(a, bcd)

rule transposes
  x: [a, b, c]
  source
    t = transpose(x; perm=[1, 2, 0])
    u = relu(t)
    y = transpose(u; perm=[2, 0, 1])
  target
    y = relu(x)

rule merge_strided_convs
  x: [n, c, h, w]   a: [o, c, 1, 1]   b: [r, c, 3, 3]
  source
    u = conv(x, a; strides=[s, t])
    v = conv(x, b; strides=[s, t], pads=[1, 1, 1, 1])
    p = relu(u)
    q = relu(v)
  target
    a1 = enlarge(a; kernel=[3, 3])
    ab = concat(a1, b; axis=0)
    uv = conv(x, ab; strides=[s, t], pads=[1, 1, 1, 1])
    pq = relu(uv)
    p, q = split(pq; axis=1, sizes=[o, r])
)";

TEST(Derivability, OfWhatTheShippedRulesImply) {
  const auto consequences = rules_of(kConsequences);
  const rules::SaturationRules from(shipped_rules());
  const core::StopToken stop;
  for (const RuleDerivability& r : derivability(consequences, from, {}, core::silent(), stop))
    EXPECT_EQ(r.verdict, Derivability::kYes) << r.rule << ": " << r.nodes;
}

TEST(Derivability, WhatNoRuleMakesEqualIsNotDerivable) {
  const auto rules = rules_of("rule interchange\n"
                              "  x: [a, b]   y: [a, c]   z: [d, b]   w: [d, c]\n"
                              "  source\n    p = concat(x, y; axis=1)\n"
                              "    q = concat(z, w; axis=1)\n    r = concat(p, q; axis=0)\n"
                              "  target\n    u = concat(x, z; axis=0)\n"
                              "    v = concat(y, w; axis=0)\n    r = concat(u, v; axis=1)\n");
  const rules::SaturationRules from(rules_of("rule relu_twice\n  x: [n]\n"
                                             "  source\n    t = relu(x)\n    y = relu(t)\n"
                                             "  target\n    y = relu(x)\n"));
  const core::StopToken stop;
  const auto found = derivability(rules, from, {}, core::silent(), stop);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].verdict, Derivability::kNo);
  EXPECT_EQ(found[0].instance, "interchange");
}

TEST(Derivability, OfTasosRules) {
  const auto taso = rules::import_taso_rules(std::filesystem::path(SOAPSTONE_SOURCE_DIR) /
                                             "tests/data/taso_rules_sample.pb");
  ASSERT_TRUE(taso.ok());
  const rules::SaturationRules from(shipped_rules());
  DerivabilityOptions options;
  options.limits.nodes = 400;
  const core::StopToken stop;
  std::vector<std::vector<std::size_t>> nodes;
  for (const int jobs : {1, 3}) {
    options.jobs = jobs;
    std::size_t derivable = 0;
    auto& of_jobs = nodes.emplace_back();
    for (const auto& r : derivability(taso->file.rules, from, options, core::silent(), stop)) {
      derivable += r.verdict == Derivability::kYes ? 1 : 0;
      of_jobs.push_back(r.nodes);
      // The one that is wrong.
      EXPECT_FALSE(r.rule == "taso_50" && r.verdict == Derivability::kYes);
    }
    EXPECT_GE(derivable, 48u);
  }
  EXPECT_EQ(nodes[0], nodes[1]);
}

TEST(Derivability, EveryRuleFollowsFromItself) {
  const core::StopToken stop;
  std::size_t looked_at = 0;
  for (std::size_t k = 0; k < shipped_rules().size(); k += 41) {
    const rules::Rule& rule = shipped_rules()[k];
    // Shapes of inputs are attributes of gradients, and saturation has no gradient at other sizes.
    if (rule.name.find("_grad") != std::string::npos) continue;
    rules::SaturationRules from;
    ASSERT_TRUE(from.add(rule).ok());
    const auto found = derivability(std::span(&rule, 1), from, {}, core::silent(), stop);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].verdict, Derivability::kYes) << rule.name;
    ++looked_at;
  }
  EXPECT_GE(looked_at, 80u);
}

TEST(Derivability, RightToLeftWhereMatchingSaysEnough) {
  const auto rules = rules_of("rule relu_twice\n  x: [n]\n"
                              "  source\n    t = relu(x)\n    y = relu(t)\n"
                              "  target\n    y = relu(x)\n"
                              "rule times_zero\n  x: [n]   z: [] = {0}\n"
                              "  source\n    y = mul(x, z)\n"
                              "  target\n    y = full(; shape=[n], value=0.0)\n"
                              "rule add_zero\n  x: [n]   z: [] = {0}\n"
                              "  source\n    y = add(x, z)\n  target\n    y = x\n");
  const auto turned = reversed(rules[0]);
  ASSERT_TRUE(turned.ok()) << turned.error().to_string();
  EXPECT_EQ(turned->source.order().size(), 1u);
  EXPECT_EQ(turned->target.order().size(), 2u);
  EXPECT_FALSE(reversed(rules[1]).ok());
  EXPECT_FALSE(reversed(rules[2]).ok());
}

TEST(RuleInstances, SizesAreDifferentAndWhereClausesHold) {
  const auto rules = rules_of("rule slice_of_first_part\n  x: [a, n, b]   z: [a, m, b]\n"
                              "  where s + d*k - d + 1 <= n, k >= 1, n >= 2*m\n"
                              "  source\n    t = concat(x, z; axis=1)\n"
                              "    y = slice(t; axes=[1], starts=[s], sizes=[k], steps=[d])\n"
                              "  target\n"
                              "    y = slice(x; axes=[1], starts=[s], sizes=[k], steps=[d])\n");
  const auto instances = rule_instances(rules.at(0), 3, 1);
  ASSERT_THAT(instances, SizeIs(3));
  for (const Sides& sides : instances) {
    const auto dims = [&](std::size_t k) {
      return *core::concrete(sides.source.tensor(sides.source.inputs()[k]).type.shape);
    };
    EXPECT_GE(dims(0)[1], 2 * dims(1)[1]);
    EXPECT_NE(dims(0)[0], dims(0)[2]);
    EXPECT_NE(dims(0)[0], dims(0)[1]);
  }
}

TEST(RuleInstances, AreFoundForNearlyAllShippedRules) {
  std::vector<std::string> without;
  for (std::size_t k = 0; k < shipped_rules().size(); k += 7)
    if (rule_instances(shipped_rules()[k], 1, 1).empty())
      without.push_back(shipped_rules()[k].name);
  EXPECT_THAT(without, testing::IsEmpty());
}

}  // namespace
}  // namespace soapstone::generator
