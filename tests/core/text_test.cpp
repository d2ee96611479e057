// Graphs to text and back.
#include "core/text/text.h"

#include <gtest/gtest.h>

#include <map>

#include "core/syntax/lexer.h"
#include "tests/core/tiny_catalog.h"

namespace soapstone::core {
namespace {

class TextTest : public testing::Test {
 protected:
  Graph parse(std::string_view text) const {
    auto graph = parse_graph(text, ops_, infer_tiny);
    if (!graph) ADD_FAILURE() << graph.error().to_string();
    return std::move(graph).value();
  }
  void expect_canonical(std::string_view text) const { EXPECT_EQ(print(parse(text)), text); }

  TinyCatalog ops_;
};

TEST_F(TextTest, ReadsWhatItWrites) {
  expect_canonical("graph example\n"
                   "  x: f32[1, 3, n, 2*n - 1]\n"
                   "  \"conv1/weights:0\": i64[1, p, n, 2*n - 1]\n"
                   "  b: f32[2] = {0.5, -1}\n"
                   "  none: i8[0] = {}\n"
                   "  s: bool[] = {1}\n"
                   "  y = window(x, _, b; alpha=0.25, pads=[n + 1, -2])\n"
                   "  p, q = split(y; axis=1, sizes=[1, 2]) @\"node:1\"\n"
                   "  z = concat(p, q, \"conv1/weights:0\"; axis=1) @cat\n"
                   "  return z, p, none, s\n");
}

TEST_F(TextTest, ReadsOpaqueNodesWithTheirTypesAndAnyAttributes) {
  expect_canonical(
      "graph\n"
      "  x: f32[2]\n"
      "  a: i64[?], b: f16[2, k] = opaque(x, _; \"a-b\"=[], count=-3, domain=\"ai.\\\"x\\\\\", "
      "eps=1e-05, limit=-inf, one=1.0)\n"
      "  c: f32[7] = relu(a)\n"
      "  return b, c\n");
}

TEST_F(TextTest, CommentsAndBlanksDoNotMatter) {
  const Graph g =
      parse("# head\n\tgraph g # title\n x :f32 [ 2*( n+1 ) ]#in\r\n\ny=relu(x)return y");
  EXPECT_EQ(print(g), "graph g\n  x: f32[2*n + 2]\n  y = relu(x)\n  return y\n");
}

TEST_F(TextTest, DefaultsNeedNotBeWritten) {
  const Graph a = parse("graph\n x: f32[2]\n y = window(x)\n return y");
  const Graph b =
      parse("graph\n x: f32[2]\n y = window(x; alpha=1, mode=\"same\", pads=[0, 0])\n return y");
  EXPECT_TRUE(same_structure(a, b));
}

TEST_F(TextTest, UnnamedTensorsGetFreshNames) {
  GraphBuilder builder("g");
  const TensorId x = builder.add_input("t1", f32({2}));
  const TensorId y = append(builder, ops_["relu"], {x});
  const TensorId z = append(builder, ops_["relu"], {y});
  builder.set_name(z, "t1");  // taken
  builder.set_outputs({append(builder, ops_["relu"], {z})});
  EXPECT_EQ(print(std::move(builder).finish().value()), "graph g\n"
                                                        "  t1: f32[2]\n"
                                                        "  t0 = relu(t1)\n"
                                                        "  t2 = relu(t0)\n"
                                                        "  t3 = relu(t2)\n"
                                                        "  return t3\n");
}

TEST_F(TextTest, WordsOfTheLanguageAreQuotedAsNames) {
  expect_canonical("graph \"graph\"\n"
                   "  \"_\": f32[2]\n"
                   "  \"return\": f32[2]\n"
                   "  \"symbols\": f32[$\"inf\"]\n"
                   "  \"1\" = add(\"_\", \"return\")\n"
                   "  return \"1\", \"symbols\"\n");
}

TEST_F(TextTest, SymbolsKeepTheirNumbers) {
  GraphBuilder builder("g");
  const Symbol unused = builder.symbols().intern("unused"), n = builder.symbols().intern("n");
  builder.set_outputs({builder.add_input("x", f32({Size(n)}))});
  const Graph g = std::move(builder).finish().value();
  EXPECT_EQ(unused.id, 0u);
  EXPECT_EQ(print(g), "graph g\n  symbols unused, n\n  x: f32[n]\n  return x\n");
  EXPECT_TRUE(same_structure(parse(print(g)), g));
}

TEST_F(TextTest, LargeConstantsAreWrittenAsHashes) {
  const LiteralPtr large = constant(std::vector<float>(17, 1.5f));
  GraphBuilder builder("g");
  builder.set_outputs({append(builder, ops_["relu"], {builder.add_constant(large, "w")})});
  const Graph g = std::move(builder).finish().value();
  const std::string text = print(g);
  EXPECT_NE(text.find("w: f32[17] = constant 0x"), std::string::npos) << text;
  const auto back = parse_graph(text, ops_, infer_tiny, [&](std::uint64_t hash) {
    return hash == large->hash() ? large : nullptr;
  });
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_TRUE(same_structure(*back, g));
  PrintOptions options;
  options.inline_constants_up_to = 17;
  EXPECT_TRUE(same_structure(parse(print(g, options)), g));
}

TEST_F(TextTest, TypesCanBeShown) {
  PrintOptions options;
  options.show_types = true;
  const Graph g = parse("graph g\n x: f32[n]\n y = relu(x)\n return y");
  const std::string text = print(g, options);
  EXPECT_EQ(text, "graph g\n  x: f32[n]\n  y = relu(x)  # f32[n]\n  return y\n");
  EXPECT_TRUE(same_structure(parse(text), g));
}

TEST_F(TextTest, RandomGraphsSurvive) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const Graph g = random_graph(ops_, random, 20);
    const std::string text = print(g);
    const Graph back = parse(text);
    EXPECT_TRUE(same_structure(g, back)) << "seed " << seed << "\n" << text;
    EXPECT_EQ(print(back), text) << "seed " << seed;
  }
}

TEST_F(TextTest, NoChangeOfAByteBreaksTheParser) {
  std::mt19937_64 random(3);
  const std::string text = print(random_graph(ops_, random, 8));
  const std::string bytes = "()[]{},;:=*+-@\"$\\#?_x9. \n\x01\xc3";
  for (int round = 0; round < 3000; ++round) {
    std::string changed = text;
    for (int edits = 1 + round % 3; edits > 0; --edits) {
      changed[random() % changed.size()] = bytes[random() % bytes.size()];
    }
    const auto graph = parse_graph(changed, ops_, infer_tiny);
    if (graph) continue;
    EXPECT_EQ(graph.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(TokenStream, GivesTheRestOfALine) {
  TokenStream tokens("origin \"a # b\", 4.8.12's  # comment\nchecked");
  EXPECT_TRUE(tokens.accept("origin"));
  EXPECT_TRUE(tokens.on_same_line());
  EXPECT_EQ(tokens.rest_of_line(), "\"a # b\", 4.8.12's");
  EXPECT_FALSE(tokens.on_same_line());
  EXPECT_TRUE(tokens.accept("checked"));
  EXPECT_TRUE(tokens.at_end());
  EXPECT_EQ(tokens.rest_of_line(), "");
}

TEST(Lexer, QuotesAreReadBack) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  TokenStream tokens(quote(all) + quote_symbol("a b"));
  EXPECT_EQ(tokens.peek().kind, TokenKind::kString);
  EXPECT_EQ(tokens.next().text, all);
  EXPECT_EQ(tokens.peek().kind, TokenKind::kSymbol);
  EXPECT_EQ(tokens.next().text, "a b");
}

}  // namespace
}  // namespace soapstone::core
