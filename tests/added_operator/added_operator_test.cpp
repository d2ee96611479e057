// Adds an operator to everything that there is: this executable has the library's operators and
// that of thresholded_relu.cpp, and a rule about it. No other file knows either.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cost/models/cost_model.h"
#include "generator/enumeration/enumerate.h"
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

constexpr const char* kName = "thresholded_relu";

/// A litmus file: its first line says what must come of the rule.
std::string litmus_text() {
  std::ifstream file(std::filesystem::path(SOAPSTONE_SOURCE_DIR) /
                     "tests/added_operator/join_thresholded.rule");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<rules::Rule> shipped_rule() { return rules_of(litmus_text()); }

core::Graph two_parts(const std::string& second_threshold) {
  return graph_of("graph g\n  x: f32[64, 32]\n  y: f32[64, 16]\n"
                  "  a = thresholded_relu(x; alpha=0.5)\n"
                  "  b = thresholded_relu(y; alpha=" +
                  second_threshold +
                  ")\n"
                  "  z = concat(a, b; axis=1)\n  return z\n");
}

std::ptrdiff_t count(const core::Graph& graph) {
  return std::ranges::count_if(graph.order(),
                               [&](core::NodeId id) { return graph.node(id).op->name == kName; });
}

TEST(AddedOperator, IsOneOfAllOperators) {
  EXPECT_NE(ops::registry().find(kName), nullptr);
  EXPECT_NE(ops::registry().find("matmul"), nullptr);
}

TEST(AddedOperator, IsEnumerated) {
  const auto vocabulary =
      generator::vocabulary_of(std::vector<std::string>{kName, "transpose", "concat"});
  ASSERT_TRUE(vocabulary) << vocabulary.error().to_string();
  generator::EnumerateOptions options;
  options.ops = 2;
  options.jobs = 1;
  const auto found = generator::enumerate(*vocabulary, options);
  ASSERT_TRUE(found) << found.error().to_string();
  // transpose(thresholded_relu(x)) = thresholded_relu(transpose(x)), whichever was first.
  const bool has_law = std::ranges::any_of(found->pairs, [&](const generator::EqualPair& pair) {
    const auto sides = generator::sides_of(*found, pair);
    return sides && count(sides->source) == 1 && count(sides->target) == 1 &&
           sides->source.hash() != sides->target.hash();
  });
  EXPECT_TRUE(has_law);
}

TEST(AddedOperator, IsMatched) {
  const rules::RuleSet rules(shipped_rule());
  const auto matches = [&](const core::Graph& graph) {
    int found = 0;
    rules.for_each_match(graph, [&](core::RuleId, const rules::Match&) {
      ++found;
      return true;
    });
    return found;
  };
  EXPECT_EQ(matches(two_parts("0.5")), 1);
  EXPECT_EQ(matches(two_parts("0.25")), 0) << "the thresholds differ";
}

TEST(AddedOperator, IsDrawnFor) {
  const rules::Rule rule = shipped_rule().at(0);
  ASSERT_EQ(rule.parameters.size(), 1U);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto values = rules::sample_parameters(rule, seed);
    ASSERT_TRUE(values.ok()) << values.error().to_string();
    const auto special = rules::specialize(rule, *values);
    ASSERT_TRUE(special.ok()) << special.error().to_string();
    EXPECT_TRUE(special->parameters.empty());
  }
}

TEST(AddedOperator, IsProvedAsItsLitmusFileSays) {
  EXPECT_TRUE(litmus_text().starts_with("# expect: proved\n"));
  const rules::Rule rule = shipped_rule().at(0);
  const auto special = rules::specialize(rule, *rules::sample_parameters(rule, 1));
  ASSERT_TRUE(special.ok());
  const auto solver = verifier::make_z3_solver();
  const verifier::Verdict verdict = verifier::verify(*special, *solver, {});
  EXPECT_EQ(verdict.kind, verifier::VerdictKind::kProved) << verdict.reason;
}

TEST(AddedOperator, IsRefutedWith) {
  auto wrong =
      rules::parse_rules("rule doubled\n  x: [n]\n  source\n    a = add(x, x)\n    y = "
                         "thresholded_relu(a; alpha=1.0)\n"
                         "  target\n    b = thresholded_relu(x; alpha=1.0)\n    y = add(b, b)\n");
  ASSERT_TRUE(wrong.ok()) << wrong.error().to_string();
  const auto solver = verifier::make_z3_solver();
  const verifier::Verdict verdict = verifier::verify(wrong->rules.at(0), *solver, {});
  EXPECT_EQ(verdict.kind, verifier::VerdictKind::kRefuted) << verdict.reason;
}

TEST(AddedOperator, IsMutated) {
  const rules::Rule rule = shipped_rule().at(0);
  const auto special = rules::specialize(rule, *rules::sample_parameters(rule, 1));
  ASSERT_TRUE(special.ok());
  verifier::Mutator mutator({*special}, 1);
  bool has_constant = false;
  for (int k = 0; k < 40 && !has_constant; ++k) {
    const auto mutant = mutator.next();
    if (!mutant) break;
    has_constant =
        std::ranges::find(mutant->kinds, verifier::MutationKind::kConstant) != mutant->kinds.end();
  }
  EXPECT_TRUE(has_constant) << "nobody changed the threshold";
}

TEST(AddedOperator, IsOptimizedWith) {
  const rules::RuleSet baseline{std::vector<rules::Rule>{}}, rules(shipped_rule());
  verifier::Admission first(baseline, {.allow_unproved = true});
  verifier::Admission second(rules, {.allow_unproved = true});
  const auto cost = cost::make_roofline_cost(runtime::Fusion::kNone);
  const auto backend = runtime::make_reference_backend();
  search::OptimizeOptions options;
  options.measure = false;
  options.search.time_s = 0;
  options.search.alpha = 2;
  core::StopToken stop;
  const core::Graph graph = two_parts("0.5");
  const auto report =
      optimize(graph, first, second, *cost, *backend, options, core::silent(), stop);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->outcome, search::Outcome::kImproved);
  EXPECT_EQ(count(report->graph), 1);
  ASSERT_TRUE(report->equivalence.has_value());
  EXPECT_TRUE(report->equivalence->equal);
}

TEST(AddedOperator, IsReadAndWritten) {
  const models::OnnxModel model = models::read_text(
      "<ir_version: 8, opset_import: [\"\" : 13]>\n"
      "g (float[2,3] x) => (float[2,3] y) { y = ThresholdedRelu<alpha = 0.25>(x) }");
  EXPECT_EQ(models::operators(model.graph), kName);
  const core::Node& node = model.graph.node(model.graph.order()[0]);
  EXPECT_EQ(node.attributes.get_real("alpha"), 0.25);
  const auto written = models::parse_proto(models::write_mapped(model));
  EXPECT_EQ(models::op_types(written), "ThresholdedRelu");
  ASSERT_EQ(written.graph().node(0).attribute_size(), 1);
  EXPECT_EQ(written.graph().node(0).attribute(0).name(), "alpha");
  EXPECT_EQ(written.graph().node(0).attribute(0).f(), 0.25F);
}

}  // namespace
}  // namespace soapstone
