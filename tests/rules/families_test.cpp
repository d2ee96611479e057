// Which rules are instances of one, and that names do not collide.
#include "rules/rule/families.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace soapstone::rules {
namespace {

Rule rule(const std::string& name, const std::string& file, int line) {
  Rule made;
  made.base_name = name;
  made.file = file;
  made.line = line;
  return made;
}

TEST(Families, AreInstancesOfOneRuleOfOneFile) {
  const std::vector<Rule> rules = {rule("a", "x", 1), rule("a", "x", 1), rule("b", "x", 9),
                                   rule("b", "y", 9), rule("b", "y", 20)};
  std::vector<std::size_t> sizes;
  for (const auto family : families(rules)) sizes.push_back(family.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 1, 1, 1}));
  EXPECT_TRUE(families(std::vector<Rule>()).empty());
}

TEST(Families, OfOneNameInTwoFilesAreRefused) {
  std::vector<Rule> rules = {rule("a", "x", 1), rule("a", "x", 1), rule("b", "y", 2)};
  EXPECT_TRUE(check_names(rules));
  rules.push_back(rule("a", "", 3));
  const core::Status refused = check_names(rules);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(),
            "line 3 of the rules given as text: there are two rules a: the other one is at x:1 "
            "(rename one of them)");
}

}  // namespace
}  // namespace soapstone::rules
