// Random graphs saturated with the shipped rules: whatever ends up in one class must be equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "rules/rule/typing.h"
#include "tests/fuzz/proofs/random_terms.h"
#include "tests/rules/egraph_values.h"

namespace soapstone::fuzz {
namespace {

using rules::ClassId;

/// The shipped rules that hold in the prime field, where functions are random.
const rules::SaturationRules& shipped_rules() {
  static const rules::SaturationRules kRules = [] {
    auto file = rules::read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
    CHECK(file.ok(), file.error().to_string());
    std::erase_if(file->rules, rules::is_law_of_functions);
    return rules::SaturationRules(file->rules);
  }();
  return kRules;
}

/// Operators of which the shipped rules say most.
constexpr std::array<std::string_view, 16> kOperators = {
    "add",    "add",       "mul",       "sub",    "neg",   "relu", "relu", "matmul",
    "matmul", "transpose", "transpose", "concat", "split", "conv", "max",  "softmax"};

/// Two random terms at the first sizes of their world; the field knows floats alone.
std::optional<rules::TypedSides> random_graphs(TermMaker& maker) {
  constexpr int kDraws = 400;
  constexpr std::size_t kMostNodes = 8, kFewestNodes = 4;
  for (int draw = 0; draw < kDraws; ++draw)
    for (Term& term : maker.draw(
             ops::registry().definition(kOperators[maker.random().next() % kOperators.size()]),
             kMostNodes))
      if (core::is_floating(term.type) && term.shape) maker.keep(std::move(term));
  std::vector<const Term*> large;
  for (const Term& term : maker.terms())
    if (term.nodes.size() >= kFewestNodes) large.push_back(&term);
  for (int attempt = 0; attempt < kDraws && large.size() >= 2; ++attempt) {
    const Term& a = *large[maker.random().next() % large.size()];
    const Term& b = *large[maker.random().next() % large.size()];
    auto rule = maker.rule(a, b);
    if (!rule) continue;
    auto typed = rules::type_sides(rule->source, rule->target, maker.world().sizes[0]);
    if (typed) return *std::move(typed);
  }
  return std::nullopt;
}

TEST(SaturationFuzz, MembersOfClassesAreEqual) {
  constexpr int kSeeds = 6;
  std::size_t graphs = 0, compared = 0;
  for (const std::string& text : world_texts()) {
    if (text.find("i64") != std::string::npos || text.find("bool") != std::string::npos) continue;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      rules::Random random(seed);
      TermMaker maker(make_world(text, random), seed);
      const auto sides = random_graphs(maker);
      if (!sides) continue;
      rules::EGraph graph;
      std::vector<ClassId> inputs;
      for (core::TensorId id : sides->source.inputs())
        inputs.push_back(graph.add_input(static_cast<std::uint32_t>(inputs.size()),
                                         sides->source.tensor(id).type));
      graph.add_graph(sides->source, inputs);
      graph.add_graph(sides->target, inputs);
      rules::SaturationLimits limits;
      limits.nodes = 150;
      rules::saturate(graph, shipped_rules(), limits, nullptr, core::StopToken());
      const auto check = rules::check_members(graph, shipped_rules(), seed);
      EXPECT_THAT(check.disagreements, testing::IsEmpty())
          << "seed " << seed << " in " << text << "\n"
          << core::print(sides->source) << core::print(sides->target);
      ++graphs;
      compared += check.compared;
    }
  }
  EXPECT_GE(graphs, 20u);
  EXPECT_GE(compared, 500u);
}

}  // namespace
}  // namespace soapstone::fuzz
