// Every rule of TASO's sample has a verdict; the wrong one also a guard that saves it.
#include <gtest/gtest.h>

#include "rules/rule/constraints.h"
#include "rules/taso/import_taso.h"
#include "tests/verifier/proves.h"
#include "verifier/refutation/refute.h"
#include "verifier/refutation/saving_guard.h"

namespace soapstone::verifier {
namespace {

TEST(TasoRules, AreAllDecided) {
  const auto taso = rules::import_taso_rules(std::filesystem::path(SOAPSTONE_SOURCE_DIR) /
                                             "tests/data/taso_rules_sample.pb");
  ASSERT_TRUE(taso.ok()) << taso.error().to_string();
  std::vector<rules::Rule> all = taso->file.rules;
  for (const rules::UnmatchedRule& each : taso->unmatched) all.push_back(each.rule);
  ASSERT_EQ(all.size(), 66u);
  for (const rules::Rule& rule : all) {
    if (proves(rule)) continue;
    EXPECT_EQ(rule.name, "taso_50");
    EXPECT_TRUE(refute(rule, 40, 0));
    const auto guard = find_saving_guard(rule, proves);
    ASSERT_EQ(guard.size(), 1u);
    // Both weights of the merged convolution have as many output channels.
    EXPECT_EQ(rules::to_string(guard[0], rule.source.symbols()), "f - g = 0");
  }
}

}  // namespace
}  // namespace soapstone::verifier
