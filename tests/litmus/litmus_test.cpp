// Runs every rule file below tests/litmus, or below the folder of it that LITMUS_FOLDER in the
// environment names. A file holds one rule, whose first line says what the
// verdict must be. `# expect: proved`, `# expect: refuted`, or `# expect: refuted; saved by m = n`
// if that equation makes the rule true. `# expect: unproved` is for a false rule that numbers do
// not catch: all that counts is that it has no proof. Each side must also be proved equal to
// itself. A second line
// `# open: reason` says that no verdict is reached yet, `# open itself: reason` that a side is not
// proved equal to itself yet; it must go as soon as that has changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "rules/rule/constraints.h"
#include "rules/rule/rule.h"
#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {
namespace {

namespace fs = std::filesystem;
using rules::Rule;

constexpr int kSpecializations = 3;  ///< Sets of values for a rule whose attributes are symbols.
constexpr int kCheckedSizes = 50;

fs::path folder() { return fs::path(SOAPSTONE_SOURCE_DIR) / "tests/litmus"; }

struct Litmus {
  std::string text;
  VerdictKind expected = VerdictKind::kUnknown;
  bool unproved = false;     ///< Anything but proved.
  bool open = false;         ///< Neither proved nor refuted yet.
  bool open_itself = false;  ///< A side is not proved equal to itself yet.
  std::string saved_by;
};

Litmus read_litmus(const fs::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  Litmus litmus;
  litmus.text = text.str();
  std::istringstream lines(litmus.text);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  const std::string saved = "# expect: refuted; saved by ";
  if (first == "# expect: proved") litmus.expected = VerdictKind::kProved;
  if (first == "# expect: refuted") litmus.expected = VerdictKind::kRefuted;
  litmus.unproved = first == "# expect: unproved";
  if (first.starts_with(saved)) {
    litmus.expected = VerdictKind::kRefuted;
    litmus.saved_by = first.substr(saved.size());
  }
  litmus.open = second.starts_with("# open: ");
  litmus.open_itself = second.starts_with("# open itself: ");
  return litmus;
}

/// All instances of the rule, those with symbols in attributes for some values of them.
std::vector<Rule> instances(const std::string& text, const std::string& file) {
  auto parsed = rules::parse_rules(text, file);
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
  std::vector<Rule> result;
  if (!parsed.ok()) return result;
  for (const Rule& rule : parsed->rules) {
    EXPECT_EQ(rule.base_name, fs::path(file).stem()) << "a file holds the rule it is named after";
    if (rule.parameters.empty()) {
      result.push_back(rule);
      continue;
    }
    for (int seed = 1; seed <= kSpecializations; ++seed) {
      const auto values = rules::sample_parameters(rule, static_cast<std::uint64_t>(seed));
      EXPECT_TRUE(values.ok()) << values.error().to_string();
      if (!values.ok()) continue;
      auto special = rules::specialize(rule, *values);
      EXPECT_TRUE(special.ok()) << special.error().to_string();
      if (special.ok()) result.push_back(*std::move(special));
    }
  }
  return result;
}

class LitmusTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    litmus_ = read_litmus(folder() / GetParam());
    ASSERT_TRUE(litmus_.unproved || litmus_.expected != VerdictKind::kUnknown)
        << "the first line must be `# expect: proved`, `… refuted` or `… unproved`";
    rules_ = instances(litmus_.text, GetParam());
    ASSERT_FALSE(rules_.empty());
  }

  void expect_verdict(const Rule& rule);
  void expect_saved(const Rule& rule, const Verdict& verdict);
  void expect_no_proof();
  void expect_sides_proved_to_themselves();

  Litmus litmus_;
  std::vector<Rule> rules_;
  std::unique_ptr<Solver> solver_ = make_z3_solver();
  int as_expected_ = 0;
};

void LitmusTest::expect_verdict(const Rule& rule) {
  const Verdict verdict = verify(rule, *solver_, {.look_for_guard = !litmus_.saved_by.empty()});
  as_expected_ += verdict.kind == litmus_.expected ? 1 : 0;
  EXPECT_EQ(verdict.refutation.has_value(), verdict.kind == VerdictKind::kRefuted);
  const std::string why = verdict.refutation ? verdict.refutation->text : verdict.reason;
  if (verdict.kind == VerdictKind::kUnknown) {
    EXPECT_TRUE(litmus_.open) << rule.name << " is neither proved nor refuted: " << why;
  } else if (litmus_.expected == VerdictKind::kProved) {
    EXPECT_EQ(to_string(verdict.kind), "proved") << rule.name << ": " << why;
  }
  // Instances of a false rule may be true, but those that are refuted must have no proof.
  if (verdict.kind == VerdictKind::kRefuted) {
    EXPECT_NE(attempt_proof(rule, *solver_, {}), "") << rule.name << " has a proof, but " << why;
  }
  if (!litmus_.saved_by.empty()) expect_saved(rule, verdict);
  if (litmus_.open && litmus_.expected == VerdictKind::kProved) {
    const auto report = rules::check(rule, kCheckedSizes, /*seed=*/1);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_FALSE(report->counterexample.has_value()) << report->counterexample->text;
  }
}

/// With the equation that the first line names, the rule is proved, and the verdict says so.
void LitmusTest::expect_saved(const Rule& rule, const Verdict& verdict) {
  std::string text = litmus_.text;
  const std::size_t source = text.find("\n  source\n");
  ASSERT_NE(source, std::string::npos);
  text.insert(source + 1, "  where " + litmus_.saved_by + "\n");
  const std::vector<Rule> saved = instances(text, GetParam());
  ASSERT_EQ(saved.size(), 1U) << "one instance can be saved by an equation";
  EXPECT_EQ(attempt_proof(saved[0], *solver_, {}), "") << rule.name << " with " << litmus_.saved_by;
  ASSERT_EQ(verdict.saving_guard.size(), 1U);
  EXPECT_TRUE(std::ranges::any_of(saved[0].guard,
                                  [&](const ops::SizeConstraint& equation) {
                                    return rules::to_string(equation, saved[0].source.symbols()) ==
                                           rules::to_string(verdict.saving_guard[0],
                                                            rule.source.symbols());
                                  }))
      << "saved by " << rules::to_string(verdict.saving_guard[0], rule.source.symbols());
}

void LitmusTest::expect_sides_proved_to_themselves() {
  std::string failures;
  for (const Rule& rule : rules_) {
    for (const auto side : {&Rule::source, &Rule::target}) {
      Rule same = rule;
      same.source = same.target = rule.*side;
      const std::string reason = attempt_proof(same, *solver_, {});
      if (reason.empty()) continue;
      failures += rule.name + (side == &Rule::source ? ", source: " : ", target: ") + reason + "\n";
    }
  }
  if (litmus_.open_itself) {
    EXPECT_NE(failures, "") << "both sides are proved equal to themselves: remove the line "
                               "`# open itself:` of "
                            << GetParam();
  } else {
    EXPECT_EQ(failures, "") << "a side is not proved equal to itself";
  }
}

/// Expects that no instance of a rule has a proof.
void LitmusTest::expect_no_proof() {
  for (const Rule& rule : rules_) {
    EXPECT_NE(attempt_proof(rule, *solver_, {}), "") << rule.name << " has a proof";
  }
}

TEST_P(LitmusTest, HasTheVerdictOfItsFirstLine) {
  if (litmus_.unproved) return expect_no_proof();
  for (const Rule& rule : rules_) expect_verdict(rule);
  const auto all = static_cast<int>(rules_.size());
  if (litmus_.open) {
    const bool still_open = as_expected_ < (litmus_.expected == VerdictKind::kProved ? all : 1);
    EXPECT_TRUE(still_open) << "now " << to_string(litmus_.expected)
                            << ": remove the line `# open:` of " << GetParam();
  } else {
    EXPECT_GT(as_expected_, 0) << "no instance is " << to_string(litmus_.expected);
  }
  if (!litmus_.open) expect_sides_proved_to_themselves();
}

std::vector<std::string> litmus_files() {
  std::vector<std::string> files;
  const char* const topic = std::getenv("LITMUS_FOLDER");
  for (const auto& entry : fs::recursive_directory_iterator(folder() / (topic ? topic : ""))) {
    if (entry.path().extension() == ".rules") {
      files.push_back(fs::relative(entry.path(), folder()).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& file) {
  std::string name = file.param.substr(0, file.param.rfind('.'));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, LitmusTest, ::testing::ValuesIn(litmus_files()), name_of);

}  // namespace
}  // namespace soapstone::verifier
