// Which rules may match what a graph becomes, by their operators.
#include "rules/text/reachable_operators.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/file_io.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool may_match(std::string_view text, const OperatorNames& operators) {
  return may_match(called_words(text), operators);
}

TEST(ReachableOperators, ARuleNeedsWhatItsSourceCalls) {
  constexpr std::string_view kRule = R"(rule r
  x: [n, m]
  c: [] = {2}
  source
    t = full(; shape=[n, m], value=1)   # y = sqrt(x)
    u = mul(x, t)
    y = clip(u; min=lo, max=hi)
  target
    y = relu(x)
)";
  EXPECT_TRUE(may_match(kRule, {"mul", "clip"})) << "graphs have filled tensors as constants";
  EXPECT_FALSE(may_match(kRule, {"clip", "relu", "full"}));
}

TEST(ReachableOperators, AnOptionalStatementIsNotNeeded) {
  constexpr std::string_view kRule = R"(rule r
  x: [n, c, s]   w: [o, c, k]   b: [o]   f: [o]
  source
    y = conv(x, w, b?; strides=[1])
    s? = mul(b?, f)
  target
    y = conv(x, w, b?; strides=[1])
)";
  EXPECT_TRUE(may_match(kRule, {"conv"}));
}

TEST(ReachableOperators, AVariableOfALoopIsOneOfItsValues) {
  constexpr std::string_view kLoop = R"(rule r
  for f in {relu, tanh}
  x: [n]
  source
    y = f(x)
  target
    y = neg(x)
)";
  EXPECT_TRUE(may_match(kLoop, {"tanh"}));
  EXPECT_FALSE(may_match(kLoop, {"exp"}));
  constexpr std::string_view kFunctions = R"(rule r
  for f in functions
  x: [n]
  source
    each i in 1..2  y{i} = f(x)
  target
    y1 = neg(x)
    y2 = neg(x)
)";
  EXPECT_TRUE(may_match(kFunctions, {"exp"}));
  EXPECT_FALSE(may_match(kFunctions, {"matmul"}));
}

TEST(ReachableOperators, RulesLeadFromOneToTheNext) {
  const std::vector<CalledWords> rules = {
      called_words("rule b source y = neg(x) target y = abs(x)"),
      called_words("rule a source y = relu(x) target t = mul(x, x) y = neg(t)"),
      called_words("rule c source y = exp(x) target y = tanh(x)"),
      called_words("rule d for f in {relu, neg} source y = f(x) target t = f(x) y = sub(t, x)"),
      called_words("rule e for (f, g) in {(abs, log)} source y = f(x) target y = g(x)")};
  EXPECT_THAT(reachable_operators({"relu"}, rules),
              ElementsAre("abs", "log", "mul", "neg", "relu", "sub"));
  EXPECT_THAT(reachable_operators({"exp"}, rules), ElementsAre("exp", "tanh"));
}

std::vector<WrittenRule> all_written_rules() {
  std::vector<WrittenRule> all;
  const std::filesystem::path folder = std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".rules") continue;
    auto file =
        parse_rules(core::read_file(entry.path()).value(), entry.path(), RuleReading::kAsWritten);
    if (!file.ok()) ADD_FAILURE() << file.error().to_string();
    std::ranges::move(file->written, std::back_inserter(all));
  }
  return all;
}

/// The first operator of the source that is neither one of these nor in every graph.
std::string missing_operator(const Rule& rule, const OperatorNames& operators) {
  for (const NodeId id : rule.source.order()) {
    const core::OpSchema& op = *rule.source.node(id).op;
    if (op.movement != core::Movement::kFill && !operators.contains(op.name)) return op.name;
  }
  return {};
}

/// What was left out can match nowhere, and what was not leads to no other operators.
TEST(ReachableOperators, OfShippedRulesOnlyThoseThatCannotMatchAreLeftOut) {
  const std::vector<WrittenRule> written = all_written_rules();
  std::vector<CalledWords> words;
  for (const WrittenRule& rule : written) words.push_back(called_words(rule.text));
  const auto all = instances_of(written, {usual_siblings()});
  ASSERT_TRUE(all.ok());
  for (const OperatorNames& begin :
       {OperatorNames{"conv", "relu", "add"}, OperatorNames{"matmul", "softmax", "layer_norm"},
        OperatorNames{"gather", "mul", "tanh"}}) {
    const OperatorNames operators = reachable_operators(begin, words);
    const auto some = instances_of(written, {usual_siblings(), operators});
    ASSERT_TRUE(some.ok());
    EXPECT_LT(some->size(), all->size());
    std::set<std::string> kept;
    for (const Rule& rule : *some) {
      kept.insert(rule.file.string() + rule.name);
      EXPECT_EQ(missing_operator(rule, operators), "") << rule.name;
      for (const NodeId id : rule.target.order())
        EXPECT_TRUE(operators.contains(rule.target.node(id).op->name)) << rule.name;
    }
    std::vector<std::string> lost;
    for (const Rule& rule : *all)
      if (!kept.contains(rule.file.string() + rule.name) &&
          missing_operator(rule, operators).empty())
        lost.push_back(rule.name);
    EXPECT_THAT(lost, IsEmpty());
  }
}

}  // namespace
}  // namespace soapstone::rules
