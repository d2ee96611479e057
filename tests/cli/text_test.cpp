// Tables, units, shapes on the command line, suggestions.
#include <gtest/gtest.h>

#include "cli/options/common_options.h"

#include "cli/terminal/table.h"
#include "cli/terminal/units.h"
#include "core/base/nearest.h"

namespace soapstone::cli {
namespace {

TEST(Table, AlignsByWhatIsShown) {
  Table table({{"name"}, {"count", Align::kRight}, {""}});
  table.add_row({"größe", "7", "x"});
  table.add_row({"b", "1,234", ""});
  EXPECT_EQ(table.to_string(), "  name   count\n"
                               "  -----  -----  -\n"
                               "  größe      7  x\n"
                               "  b      1,234\n");
}

TEST(Table, WithoutHeadersHasNoRule) {
  Table table({{""}, {""}});
  table.add_row({"nodes", "3"});
  table.add_row({"launches", "2"});
  EXPECT_EQ(table.to_string(), "  nodes     3\n  launches  2\n");
}

TEST(CutToWidth, CountsCodePoints) {
  EXPECT_EQ(cut_to_width("größe", 5), "größe");
  EXPECT_EQ(cut_to_width("größer", 5), "größ…");
  EXPECT_EQ(cut_to_width("abc", 1), "…");
}

TEST(Units, HaveThreeSignificantDigits) {
  EXPECT_EQ(grouped(7), "7");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(time_text(0.4567), "0.46 us");
  EXPECT_EQ(time_text(12.34), "12.3 us");
  EXPECT_EQ(time_text(999.7), "1.00 ms");
  EXPECT_EQ(time_text(1.5e9), "1500 s");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1536), "1.54 kB");
  EXPECT_EQ(count_text(25'557'032), "25.6 M");
  EXPECT_EQ(count_text(12), "12");
  EXPECT_EQ(flops_text(0), "0 flop");
  EXPECT_EQ(flops_text(3.87e9), "3.87 Gflop");
  EXPECT_EQ(counted(1, "view"), "1 view");
  EXPECT_EQ(counted(2000, "view"), "2,000 views");
  EXPECT_EQ(percent_text(0.1234), "12.3 %");
}

TEST(ParseShape, ReadsSizes) {
  EXPECT_EQ(*parse_shape("x=1x3x224x224"), std::pair(std::string("x"), core::Dims{1, 3, 224, 224}));
  EXPECT_EQ(*parse_shape("batch=4"), std::pair(std::string("batch"), core::Dims{4}));
  EXPECT_EQ(*parse_shape("a=b=2,3"), std::pair(std::string("a=b"), core::Dims{2, 3}));
  EXPECT_EQ(*parse_shape("empty=0"), std::pair(std::string("empty"), core::Dims{0}));
}

TEST(ParseShape, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"x", "'x' gives no sizes"},
      {"=3", "'=3' gives no sizes"},
      {"x=", "'' is not a size, in 'x='"},
      {"x=1x", "'' is not a size, in 'x=1x'"},
      {"x=1xb", "'b' is not a size, in 'x=1xb'"},
      {"x=-1", "'-1' is not a size, in 'x=-1'"},
      {"x=99999999999", "'99999999999' is not a size, in 'x=99999999999'"},
      {"x=2147483648x2147483648x2147483648",
       "'x=2147483648x2147483648x2147483648' has too many elements"},
  };
  for (const auto& [text, message] : cases) {
    const auto parsed = parse_shape(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, message);
    EXPECT_EQ(parsed.error().code, core::ErrorCode::kUsage);
  }
}

TEST(ParseAssignment, ReadsANumber) {
  EXPECT_EQ(*parse_assignment("batch=4"), std::pair(std::string("batch"), std::int64_t{4}));
  EXPECT_FALSE(parse_assignment("batch"));
  EXPECT_FALSE(parse_assignment("batch=many"));
  EXPECT_FALSE(parse_assignment("=4"));
}

TEST(Nearest, FindsASlipOfTheFingerAndNothingElse) {
  const std::vector<std::string> names = {"squeezenet", "resnet50", "bert_base"};
  EXPECT_EQ(core::nearest("squezenet", names), "squeezenet");
  EXPECT_EQ(core::nearest("resnet05", names), "resnet50");
  EXPECT_EQ(core::nearest("vgg", names), "");
}

}  // namespace
}  // namespace soapstone::cli
