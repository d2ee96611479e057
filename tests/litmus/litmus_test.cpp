// Runs every file of tests/litmus/<family>/: one rule a file, its first line says what must become
// of it. `# expect: holds` or `# expect: refuted`.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rules/rule.h"

namespace soapstone::rules {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> litmus_files() {
  const fs::path folder = fs::path(SOAPSTONE_SOURCE_DIR) / "tests/litmus";
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".rules") {
      files.push_back(fs::relative(entry.path(), folder).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class LitmusTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LitmusTest, ComesOutAsItsFirstLineSays) {
  const fs::path path = fs::path(SOAPSTONE_SOURCE_DIR) / "tests/litmus" / GetParam();
  std::string expected;
  std::ifstream stream(path);
  std::getline(stream, expected);
  ASSERT_TRUE(expected == "# expect: holds" || expected == "# expect: refuted") << expected;
  const auto file = read_rules(path);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  ASSERT_EQ(file->rules.size(), 1U);
  const auto report = check(file->rules[0], /*size_count=*/50, /*seed=*/1);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->counterexample.has_value(), expected == "# expect: refuted");
}

std::string name_of(const ::testing::TestParamInfo<std::string>& file) {
  std::string name = file.param.substr(0, file.param.rfind('.'));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, LitmusTest, ::testing::ValuesIn(litmus_files()), name_of);

}  // namespace
}  // namespace soapstone::rules
