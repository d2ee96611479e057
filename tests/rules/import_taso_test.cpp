// The rules of TASO's file, and files that are none.
#include "rules/taso/import_taso.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "rules/taso/taso_file.h"
#include "rules/taso/taso_sizes.h"

namespace soapstone::rules {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path sample_file() {
  return std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "tests/data/taso_rules_sample.pb";
}

std::string sample_bytes() {
  std::ifstream in(sample_file(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const TasoRules& sample() {
  static const TasoRules rules = *import_taso_rules(sample_file());
  return rules;
}

const Rule& rule_named(const std::string& name) {
  const auto& rules = sample().file.rules;
  return *std::ranges::find(rules, name, &Rule::name);
}

TEST(ImportTaso, ReadsAllRulesOfTheSample) {
  EXPECT_EQ(sample().file.rules.size(), 62u);
  std::vector<std::string> unmatched;
  for (const UnmatchedRule& each : sample().unmatched) unmatched.push_back(each.rule.name);
  // Two fold a relu into a convolution, which is the same here; two have sources of two parts.
  EXPECT_THAT(unmatched, ElementsAre("taso_32", "taso_33", "taso_35", "taso_60"));
  EXPECT_TRUE(sample().skipped.empty());
}

TEST(ImportTaso, RulesAreWhatTheirTextSays) {
  for (const Rule& rule : sample().file.rules) {
    const auto again = parse_rules(print(rule));
    ASSERT_TRUE(again.ok()) << rule.name << again.error().to_string();
    EXPECT_EQ(print(again->rules.at(0)), print(rule));
  }
}

TEST(ImportTaso, GivesInputsTheSizesThatOperatorsDemand) {
  EXPECT_EQ(print(rule_named("taso_1")), R"(# Rule 1 of TASO's file.
rule taso_1
  x1: [a, b]
  x4: [b, c]
  x5: [c, d]
  source
    s0 = matmul(x1, x4)
    s1 = concat(x4, s0; axis=0)
    y0 = matmul(s1, x5)
  target
    t0 = matmul(x4, x5)
    t1 = matmul(x1, t0)
    y0 = concat(t0, t1; axis=0)
)");
}

TEST(ImportTaso, SplitsIntoWhatWasConcatenated) {
  EXPECT_THAT(print(rule_named("taso_58")), HasSubstr("y0, y1 = split(t1; axis=0, sizes=[a, e])"));
}

TEST(ImportTaso, WritesFusedActivationsOut) {
  EXPECT_THAT(print(rule_named("taso_64")), HasSubstr("y0 = relu(y0_linear)"));
}

TEST(ImportTaso, GroupsWhereWeightsHaveFewerChannels) {
  const Rule& rule = rule_named("taso_50");
  EXPECT_THAT(print(rule), HasSubstr("group=2"));
  std::vector<std::string> labels;
  for (const auto& c : rule.guard) labels.push_back(c.label);
  EXPECT_THAT(labels, ElementsAre("concat.sizes", "conv.group_outputs"));
}

TEST(ImportTaso, NoResultShapesDifferWhereTheTargetFits) {
  for (const Rule& rule : sample().file.rules)
    for (const auto& c : rule.guard) EXPECT_NE(c.label, "rule.result_shape") << rule.name;
}

TEST(ImportTaso, FreeRankIsThatOfElementwiseRules) {
  const auto rules = parse_taso_rules(sample_bytes(), {.free_rank = 3});
  ASSERT_TRUE(rules.ok());
  const auto rule = std::ranges::find(rules->file.rules, "taso_12", &Rule::name);
  EXPECT_THAT(print(*rule), HasSubstr("x1: [a, b, c]"));
}

TEST(ImportTaso, RefusesEveryTruncation) {
  const std::string all = sample_bytes(), bytes = all.substr(0, 4000);
  std::size_t whole = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto rules = taso::read_taso_file(std::string_view(bytes).substr(0, size));
    if (rules.ok()) {  // between two rules
      ++whole;
      continue;
    }
    EXPECT_EQ(rules.error().code, core::ErrorCode::kInvalidInput);
  }
  EXPECT_GT(whole, 10u);
  EXPECT_LT(whole, 40u);
}

TEST(ImportTaso, SurvivesChangedBytes) {
  const std::string bytes = sample_bytes().substr(0, 1000);
  std::size_t refused = 0;
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    std::string changed = bytes;
    changed[k] = static_cast<char>(changed[k] ^ (1 << k % 8));
    for (std::size_t size : {changed.size(), changed.size() / 2})
      refused += parse_taso_rules(changed.substr(0, size)).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0u);
}

TEST(ImportTaso, SaysWhereAFileGoesWrong) {
  const auto text = import_taso_rules(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "README.md");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_THAT(text.error().to_string(), HasSubstr("README.md: byte "));
  const auto none = import_taso_rules("/nonexistent.pb");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().to_string(), HasSubstr("/nonexistent.pb: the file cannot be opened"));
}

/// A length-delimited field.
std::string field(int number, const std::string& body) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(body.size())} + body;
}
std::string number(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}
std::string input(int id) {
  std::string bytes(1, static_cast<char>(1 << 3));
  for (std::uint64_t rest = static_cast<std::uint64_t>(id);; rest >>= 7) {
    bytes += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
    if (rest <= 127) return bytes;
  }
}
std::string op(int type, const std::vector<std::string>& inputs) {
  std::string body = number(1, type);
  for (const std::string& in : inputs) body += field(2, in);
  return body;
}
constexpr int kRelu = 8, kTanh = 10, kReshape = 14;

TEST(ImportTaso, RefusesReferencesToWhatIsNotThere) {
  const std::string output = field(3, number(1, 0) + number(2, 0));
  const auto rule = [&](const std::string& source, const std::string& target) {
    return parse_taso_rules(field(1, field(1, source) + field(2, target) + output));
  };
  const auto later = rule(op(kRelu, {input(5)}), op(kTanh, {input(-1)}));
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().to_string(),
            "rule 0: source operator 0: operator 5 is read, but only 0 are before that");
  const auto unbound = rule(op(kRelu, {input(-1)}), op(kTanh, {input(-2)}));
  ASSERT_FALSE(unbound.ok());
  EXPECT_EQ(unbound.error().to_string(),
            "rule 0: the target reads input -2, which the source does not");
}

TEST(ImportTaso, ReportsOperatorsThatAreNotOurs) {
  const std::string output = field(3, number(1, 0) + number(2, 0));
  const auto rules = parse_taso_rules(
      field(1, field(1, op(kRelu, {input(-1)})) + field(2, op(kReshape, {input(-1)})) + output));
  ASSERT_TRUE(rules.ok());
  ASSERT_EQ(rules->skipped.size(), 1u);
  EXPECT_EQ(rules->skipped[0].reason,
            "target operator 0 (TASO type 14): no operator of ours computes this");
}

TEST(TasoSizes, SolvesForSumsWithoutMinus) {
  taso::SizeEquations sizes;
  const auto a = sizes.fresh(), b = sizes.fresh(), c = sizes.fresh(), d = sizes.fresh();
  ASSERT_TRUE(sizes.equate(a, b + c));
  EXPECT_EQ(sizes.resolve(a), b + c);
  ASSERT_TRUE(sizes.equate(a, d + 1));  // b + c = d + 1 stays a condition
  EXPECT_EQ(sizes.open().size(), 1u);
  ASSERT_TRUE(sizes.equate(b, 1));  // … until d = c
  EXPECT_TRUE(sizes.open().empty());
  EXPECT_EQ(sizes.resolve(d), sizes.resolve(c));
  EXPECT_FALSE(sizes.equate(c, c + d));
}

TEST(TasoSizes, CountsOfEqualWindowsAreEqualWhereSizesAre) {
  taso::SizeEquations sizes;
  const auto h = sizes.fresh(), k = sizes.fresh();
  const taso::Sliding window{2, 2, 0};
  const auto a = sizes.windows(h, window), b = sizes.windows(k, window);
  ASSERT_TRUE(sizes.equate(a, b));
  EXPECT_EQ(sizes.resolve(h), sizes.resolve(k));
  EXPECT_TRUE(sizes.counts_windows(a));
}

}  // namespace
}  // namespace soapstone::rules
