// Adds operators to everything that there is: this executable has the library's operators and those
// of operators/, each with a rule about it in rules/. No other file knows any of them. One is
// elementwise, one computes along an axis, one joins its operands, one has parts as results, one
// only moves elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "cost/models/cost_model.h"
#include "generator/enumeration/enumerate.h"
#include "generator/generalization/lift.h"
#include "ops/definition/registry.h"
#include "rules/rule/rule.h"
#include "search/optimize.h"
#include "tests/models/onnx_text.h"
#include "tests/support/graphs.h"
#include "tests/support/rules.h"
#include "verifier/admission.h"
#include "verifier/mutation/mutation.h"
#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone {
namespace {

/// What the tests ask of an operator, in the words of its users. rules/NAME.rules is its rule.
struct Added {
  friend std::ostream& operator<<(std::ostream& out, const Added& added) {
    return out << added.name;
  }

  std::string name;
  /// Has one law of two operators with these.
  std::vector<std::string> enumerated_with;
  std::string matched;    ///< The body of a graph `x: f32[8, 32]  y: f32[8, 32]` with result z…
  std::string unmatched;  ///< The same with another attribute, where the rule does not match.
  std::size_t parameters;
  std::string wrong;  ///< A false rule.
  verifier::MutationKind mutation;
  std::string model;  ///< ONNX, without its head.
  std::string attributes;
  std::string written;  ///< Names of the operators that ONNX has.
};

using verifier::MutationKind;

const std::vector<Added> kAdded = {
    {.name = "thresholded_relu",
     .enumerated_with = {"transpose", "concat"},
     .matched = "a = thresholded_relu(x; alpha=0.5)\n  b = thresholded_relu(y; alpha=0.5)\n"
                "  z = concat(a, b; axis=1)\n  return z\n",
     .unmatched = "a = thresholded_relu(x; alpha=0.5)\n  b = thresholded_relu(y; alpha=0.25)\n"
                  "  z = concat(a, b; axis=1)\n  return z\n",
     .parameters = 1,
     .wrong = "  x: [n]\n  source\n    a = add(x, x)\n    y = thresholded_relu(a; alpha=1.0)\n"
              "  target\n    b = thresholded_relu(x; alpha=1.0)\n    y = add(b, b)\n",
     .mutation = MutationKind::kConstant,
     .model = "(float[2,3] x) => (float[2,3] y) { y = ThresholdedRelu<alpha = 0.25>(x) }",
     .attributes = "alpha=0.25",
     .written = "ThresholdedRelu"},
    {.name = "lp_normalization",
     .enumerated_with = {"concat", "neg"},
     .matched = "a, b = split(x; axis=0, sizes=[5, 3])\n  c = lp_normalization(a; along=1)\n"
                "  d = lp_normalization(b; along=1)\n  return c, d\n",
     .unmatched = "a, b = split(x; axis=0, sizes=[5, 3])\n  c = lp_normalization(a; along=1)\n"
                  "  d = lp_normalization(b; along=0)\n  return c, d\n",
     .parameters = 0,
     .wrong = "  x: [n, m]\n  source\n    y = lp_normalization(x; along=0)\n"
              "  target\n    y = lp_normalization(x; along=1)\n",
     .mutation = MutationKind::kAxis,
     .model = "(float[2,3] x) => (float[2,3] y) { y = LpNormalization<axis = -2, p = 1>(x) }",
     .attributes = "along=0, norm=\"l1\"",
     .written = "LpNormalization"},
    {.name = "interleave",
     .enumerated_with = {"relu"},
     .matched = "a = relu(x)\n  b = relu(y)\n  z = interleave(a, b; along=1)\n  return z\n",
     .unmatched = "a = relu(x)\n  z = interleave(a, y; along=1)\n  return z\n",
     .parameters = 1,
     .wrong = "  x: [n, m]   y: [n, m]\n  source\n    z = interleave(x, y; along=1)\n"
              "  target\n    z = concat(x, y; axis=1)\n",
     .mutation = MutationKind::kSwapInputs,
     .model = "(float[2,3] x, float[2,3] w) => (float[2,6] y) { y = org.example.Interleave(x, w) }",
     .attributes = "along=1",
     .written = "Reshape Reshape Concat Reshape"},
    {.name = "deinterleave",
     .enumerated_with = {"interleave"},
     .matched = "a, b = deinterleave(x; along=1, lengths=[16, 16])\n  c = relu(a)\n  d = relu(b)\n"
                "  return c, d\n",
     .unmatched = "a, b = deinterleave(x; along=0, lengths=[4, 4])\n  c = relu(a)\n  d = relu(b)\n"
                  "  return c, d\n",
     .parameters = 0,
     .wrong = "  x: [n, 2*m]\n  source\n    y, z = deinterleave(x; along=1, lengths=[m, m])\n"
              "  target\n    y, z = split(x; axis=1, sizes=[m, m])\n",
     .mutation = MutationKind::kExchangeResults,
     .model = "(float[2,6] x) => (float[2,3] y, float[2,3] z) {"
              " y, z = org.example.Deinterleave<axis = 1>(x) }",
     .attributes = "along=1, lengths=[3, 3]",
     .written = "Slice Slice"},
    {.name = "trilu",
     .enumerated_with = {"neg"},
     .matched = "a = trilu(x; diagonal=2)\n  z = trilu(a; diagonal=2)\n  return z\n",
     .unmatched = "a = trilu(x; diagonal=2)\n  z = trilu(a; diagonal=2, upper=0)\n  return z\n",
     .parameters = 0,
     .wrong = "  x: [n, m]\n  source\n    a = trilu(x; diagonal=1)\n    y = trilu(a; diagonal=0)\n"
              "  target\n    y = trilu(x; diagonal=0)\n",
     .mutation = MutationKind::kExtent,
     .model = "(float[3,3] x) => (float[3,3] y) <int64 k = {-1}> { y = Trilu<upper = 0>(x, k) }",
     .attributes = "diagonal=-1, upper=0",
     .written = "Trilu"},
};

class AddedOperator : public ::testing::TestWithParam<Added> {
 protected:
  /// A litmus file: its first line says what must come of the rule.
  static std::string litmus_text() {
    const std::string name = GetParam().name + ".rules";
    std::ifstream file(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "tests/added_operator/rules" /
                       name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static std::vector<rules::Rule> shipped_rules() { return rules_of(litmus_text()); }

  /// The rules, each with numbers for its parameters.
  static std::vector<rules::Rule> special_rules(std::uint64_t seed) {
    std::vector<rules::Rule> special;
    for (const rules::Rule& rule : shipped_rules()) {
      const auto values = rules::sample_parameters(rule, seed);
      EXPECT_TRUE(values.ok()) << values.error().to_string();
      if (!values.ok()) continue;
      auto specialized = rules::specialize(rule, *values);
      EXPECT_TRUE(specialized.ok()) << specialized.error().to_string();
      if (specialized.ok()) special.push_back(*std::move(specialized));
    }
    return special;
  }

  static core::Graph graph_with(const std::string& body) {
    return graph_of("graph g\n  x: f32[8, 32]\n  y: f32[8, 32]\n  " + body);
  }

  static std::ptrdiff_t count(const core::Graph& graph) {
    return std::ranges::count_if(
        graph.order(), [&](core::NodeId id) { return graph.node(id).op->name == GetParam().name; });
  }
};

TEST_P(AddedOperator, IsOneOfAllOperators) {
  EXPECT_NE(ops::registry().find(GetParam().name), nullptr);
  EXPECT_NE(ops::registry().find("matmul"), nullptr);
}

TEST_P(AddedOperator, IsEnumerated) {
  std::vector<std::string> names = GetParam().enumerated_with;
  names.push_back(GetParam().name);
  const auto vocabulary = generator::vocabulary_of(names);
  ASSERT_TRUE(vocabulary) << vocabulary.error().to_string();
  generator::EnumerateOptions options;
  options.ops = 2;
  options.jobs = 1;
  const auto found = generator::enumerate(*vocabulary, options);
  ASSERT_TRUE(found) << found.error().to_string();
  // transpose(thresholded_relu(x)) = thresholded_relu(transpose(x)), whichever was first.
  const bool has_law = std::ranges::any_of(found->pairs, [&](const generator::EqualPair& pair) {
    const auto sides = generator::sides_of(*found, pair);
    return sides && count(sides->source) + count(sides->target) > 0 &&
           sides->source.hash() != sides->target.hash();
  });
  EXPECT_TRUE(has_law);
}

TEST_P(AddedOperator, IsMatched) {
  const rules::RuleSet rules(shipped_rules());
  const auto matches = [&](const core::Graph& graph) {
    int found = 0;
    rules.for_each_match(graph, [&](core::RuleId, const rules::Match&) {
      ++found;
      return true;
    });
    return found;
  };
  EXPECT_EQ(matches(graph_with(GetParam().matched)), 1);
  EXPECT_EQ(matches(graph_with(GetParam().unmatched)), 0) << "an attribute differs";
}

TEST_P(AddedOperator, IsDrawnFor) {
  for (const rules::Rule& rule : shipped_rules())
    EXPECT_EQ(rule.parameters.size(), GetParam().parameters);
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (const rules::Rule& rule : special_rules(seed)) EXPECT_TRUE(rule.parameters.empty());
}

TEST_P(AddedOperator, IsProvedAsItsLitmusFileSays) {
  EXPECT_TRUE(litmus_text().starts_with("# expect: proved\n"));
  const auto solver = verifier::make_z3_solver();
  const std::vector<rules::Rule> rules = special_rules(1);
  ASSERT_FALSE(rules.empty());
  for (const rules::Rule& rule : rules) {
    const verifier::Verdict verdict = verifier::verify(rule, *solver, {});
    EXPECT_EQ(verdict.kind, verifier::VerdictKind::kProved) << rule.name << ": " << verdict.reason;
  }
}

TEST_P(AddedOperator, IsRefutedWith) {
  const rules::Rule wrong = rule_of("rule wrong\n" + GetParam().wrong);
  const auto solver = verifier::make_z3_solver();
  const verifier::Verdict verdict = verifier::verify(wrong, *solver, {});
  EXPECT_EQ(verdict.kind, verifier::VerdictKind::kRefuted) << verdict.reason;
}

TEST_P(AddedOperator, IsMutated) {
  verifier::Mutator mutator(special_rules(1), 1);
  bool is_changed = false;
  for (int k = 0; k < 80 && !is_changed; ++k) {
    const auto mutant = mutator.next();
    if (!mutant) break;
    is_changed = std::ranges::find(mutant->kinds, GetParam().mutation) != mutant->kinds.end();
  }
  EXPECT_TRUE(is_changed) << "nobody made a mistake of the kind " << to_string(GetParam().mutation);
}

TEST_P(AddedOperator, IsOptimizedWith) {
  const rules::RuleSet baseline{std::vector<rules::Rule>{}}, rules(shipped_rules());
  verifier::Admission first(baseline, {.allow_unproved = true});
  verifier::Admission second(rules, {.allow_unproved = true});
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kNone);
  const auto backend = runtime::make_reference_backend();
  search::OptimizeOptions options;
  options.measure = false;
  options.search.time_s = 0;
  options.search.alpha = 2;
  core::StopToken stop;
  const core::Graph graph = graph_with(GetParam().matched);
  const auto report =
      optimize(graph, first, second, *cost, *backend, options, core::silent(), stop);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->outcome, search::Outcome::kImproved);
  EXPECT_EQ(count(report->graph), 1);
  EXPECT_LT(report->graph.order().size(), graph.order().size());
  ASSERT_TRUE(report->equivalence.has_value());
  EXPECT_TRUE(report->equivalence->equal);
}

TEST_P(AddedOperator, IsReadAndWritten) {
  const models::OnnxModel model = models::read_text(
      "<ir_version: 8, opset_import: [\"\" : 17, \"org.example\" : 1]>\ng " + GetParam().model);
  ASSERT_EQ(models::operators(model.graph), GetParam().name);
  std::string attributes;
  for (const auto& [name, value] : model.graph.node(model.graph.order()[0]).attributes.values())
    attributes += (attributes.empty() ? "" : ", ") + name + "=" + to_string(value, {});
  EXPECT_EQ(attributes, GetParam().attributes);
  const auto written = models::parse_proto(models::write_mapped(model));
  EXPECT_EQ(models::op_types(written), GetParam().written);
}

/// A law of matrices becomes one of all ranks, whatever the attribute is called.
TEST(AddedAxis, IsLiftedByItsRole) {
  const rules::Rule law = rule_of(
      "rule law\n  x: [n, m]\n  source\n    a = neg(x)\n    y = lp_normalization(a; along=1)\n"
      "  target\n    b = lp_normalization(x; along=1)\n    y = neg(b)\n");
  const std::vector<std::string> texts = generator::lifted_texts(law);
  ASSERT_FALSE(texts.empty());
  for (const std::string& text : texts) {
    EXPECT_NE(text.find("; along=|A|"), std::string::npos) << text;
    EXPECT_GT(rules_of(text).size(), 1U) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AddedOperator, ::testing::ValuesIn(kAdded),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace soapstone
