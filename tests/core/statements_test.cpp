// The statements as another language uses them: a rule, read without any catalog.
#include "core/text/statements.h"

#include <gtest/gtest.h>

#include "tests/core/tiny_catalog.h"

namespace soapstone::core {
namespace {

constexpr std::string_view kRule = R"(rule merge
  x: [m, k]   a: [k, n]   b: [k, 2*p - 1]
  source
    y = matmul(x, a)
    z = matmul(x, _, b; order=[m, 1], axis=p)
  target
    y, z = split(yz; axis=1, sizes=[n, p])
  checked 2026; floats: exact
)";

class StatementsTest : public testing::Test {
 protected:
  template <class T>
  T next() {
    auto statement = parse_statement(tokens_, symbols_);
    EXPECT_TRUE(statement) << statement.error().to_string();
    return std::get<T>(std::move(statement).value());
  }

  TokenStream tokens_{std::string(kRule)};
  SymbolTable symbols_;
};

TEST_F(StatementsTest, ARuleCanBeReadWithThem) {
  ASSERT_TRUE(tokens_.accept("rule"));
  EXPECT_EQ(tokens_.expect_name("a name").value(), "merge");
  std::vector<InputSyntax> inputs;
  while (!tokens_.accept("source")) inputs.push_back(next<InputSyntax>());
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1].name.name, "a");
  EXPECT_EQ(inputs[1].name.at.column, 15);
  EXPECT_FALSE(inputs[0].type.data_type);
  EXPECT_EQ(to_string(inputs[2].type.shape, symbols_), "[k, 2*p - 1]");

  EXPECT_EQ(next<NodeSyntax>().op, "matmul");
  const auto second = next<NodeSyntax>();
  ASSERT_EQ(second.operands.size(), 3u);
  EXPECT_FALSE(second.operands[1]);
  EXPECT_EQ(second.attributes[0].name, "order");
  EXPECT_EQ(std::get<Polynomial>(second.attributes[1].value), symbols_.intern("p"));

  ASSERT_TRUE(tokens_.accept("target"));
  EXPECT_EQ(next<NodeSyntax>().results[1].name.name, "z");
  ASSERT_TRUE(tokens_.accept("checked"));
  EXPECT_EQ(tokens_.rest_of_line(), "2026; floats: exact");
  EXPECT_TRUE(tokens_.at_end());
}

TEST_F(StatementsTest, ANodeIsWrittenWithoutItsDefaults) {
  const TinyCatalog ops;
  const Attributes attributes = {{"alpha", 0.5}, {"mode", "same"}, {"pads", Shape{1, 2}}};
  EXPECT_EQ(node_text(ops["window"], attributes, {"x", "_"}, symbols_),
            "window(x, _; alpha=0.5, pads=[1, 2])");
  EXPECT_EQ(node_text(ops["relu"], {}, {"x"}, symbols_), "relu(x)");
}

}  // namespace
}  // namespace soapstone::core
