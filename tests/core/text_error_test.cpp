// One case for each message that a wrong text can meet, with its line and column.
#include <gtest/gtest.h>

#include "tests/core/tiny_catalog.h"

namespace soapstone::core {
namespace {

struct Case {
  std::string_view name;
  std::string text;
  std::string error;
};

class TextErrorTest : public testing::TestWithParam<Case> {};

TEST_P(TextErrorTest, SaysWhatAndWhere) {
  const TinyCatalog ops;
  const auto graph = parse_graph(GetParam().text, ops, infer_tiny);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(graph.error().to_string(), GetParam().error);
}

/// A graph with input x: f32[2, 3] and this as its second line, from column 2 on.
std::string with(std::string statement) {
  return "graph g x: f32[2, 3]\n " + std::move(statement) + "\n return x";
}

const Case kCases[] = {
    {"NoGraph", "rule r", "1:1: expected `graph`, found `rule`"},
    {"NoEnd", "graph g\n x: f32[2]",
     "2:11: expected a statement or `return`, found the end of the text"},
    {"NoTensorName", with("3 = relu(x)"), "2:2: expected a tensor name, found `3`"},
    {"UnderscoreAsResult", with("_ = relu(x)"), "2:2: expected a tensor name, found `_`"},
    {"NoEquals", with("y relu(x)"), "2:4: expected `=`, found `relu`"},
    {"NoOperator", with("y = 3"), "2:6: expected an operator, found `3`"},
    {"UnknownOperator", with("y = relo(x)"), "2:6: unknown operator `relo`"},
    {"NoOpenParenthesis", with("y = relu x"), "2:11: expected `(`, found `x`"},
    {"NoCloseParenthesis", with("y = relu(x"), "3:2: expected `,` or `)`, found `return`"},
    {"UndefinedOperand", with("y = relu(z)"), "2:11: `z` is not defined"},
    {"UndefinedOutput", "graph g return \"a b\"", "1:16: `a b` is not defined"},
    {"DefinedTwice", with("x = relu(x)"), "2:2: `x` is defined twice"},
    {"DefinedTwiceAtOnce", with("y, y = split(x; axis=0, sizes=[1, 1])"),
     "2:5: `y` is defined twice"},
    {"TooFewInputs", with("y = add(x)"), "2:6: `add` takes 2 inputs, not 1"},
    {"TooManyInputs", with("y = window(x, x, x, x)"), "2:6: `window` takes 1 to 3 inputs, not 4"},
    {"NoInputs", with("y = concat(; axis=0)"), "2:6: `concat` takes 1 or more inputs, not 0"},
    {"WrongNumberOfResults", with("y, z = relu(x)"),
     "2:9: `relu` has 1 results, but 2 names are given"},
    {"InferenceFails", with("y = concat(x; axis=2)"), "2:6: axis is out of range"},
    {"WrongResultType", with("y: f32[3] = relu(x)"), "2:2: `y` is f32[2, 3]"},
    {"UnknownAttribute", with("y = relu(x; size=3)"), "2:14: `relu` has no attribute `size`"},
    {"NoAttributeName", with("y = relu(x;)"), "2:13: expected an attribute name, found `)`"},
    {"NoAttributeEquals", with("y = concat(x; axis 1)"), "2:21: expected `=`, found `1`"},
    {"AttributeTwice", with("y = concat(x; axis=1, axis=1)"), "2:24: attribute `axis` given twice"},
    {"AttributeMissing", with("y = concat(x)"), "2:6: `concat` needs attribute `axis`"},
    {"AttributeNotInt", with("y = concat(x; axis=0.5)"),
     "2:16: attribute `axis` must be an integer"},
    {"AttributeNotReal", with("y = window(x; alpha=n)"),
     "2:16: attribute `alpha` must be a real number"},
    {"AttributeNotText", with("y = window(x; mode=1)"),
     "2:16: attribute `mode` must be a quoted text"},
    {"AttributeNotInts", with("y = window(x; pads=1)"),
     "2:16: attribute `pads` must be a list of integers"},
    {"NoNodeName", with("y = relu(x) @ 3"), "2:16: expected a node name, found `3`"},
    {"UnknownElementType", with("y: f31[2]"), "2:5: unknown element type `f31`"},
    {"NoElementType", with("y: [2]"), "2:2: the element type is missing: `f32[…]`"},
    {"NegativeSize", with("y: f32[2 - 3]"), "2:2: a size is negative"},
    {"NoShape", with("y: f32"), "3:2: expected `[`, found `return`"},
    {"ShapeNotClosed", with("y: f32[2 3]"), "2:11: expected `,` or `]`, found `3`"},
    {"NoSize", with("y: f32[2, ]"), "2:12: expected a size, found `]`"},
    {"NotAnInteger", with("y: f32[2x]"), "2:9: expected an integer, found `2x`"},
    {"SizeTooLarge", with("y: f32[9223372036854775808]"), "2:9: number does not fit into 64 bits"},
    {"ProductTooLarge", with("y: f32[4611686018427387904*2]"),
     "2:9: number does not fit into 64 bits"},
    {"SumTooLarge", with("y: f32[9223372036854775807*n + n]"),
     "2:9: number does not fit into 64 bits"},
    {"NestedTooDeeply", with("y: f32[" + std::string(100000, '(') + "]"),
     "2:73: parentheses are nested too deeply"},
    {"TooManyTerms",
     with("y: f32[(a+b+c+d+e+f+g+h+i+j)*(k+l+m+n+o+p+q+r+s+t)*(u+v+w+x+y+z+A+B+C+D)]"),
     "2:9: product has too many terms"},
    {"ConstantWithoutType", with("c = {1}"),
     "2:6: a constant needs a name and a type: `c: f32[2] = …`"},
    {"ConstantNotANumber", with("c: f32[1] = {x}"), "2:15: expected a number, found `x`"},
    {"ConstantNotClosed", with("c: f32[1] = {1 2}"), "2:17: expected `,` or `}`, found `2`"},
    {"ConstantTooShort", with("c: f32[3] = {1}"), "2:2: shape [3] has 3 elements, but 1 are given"},
    {"ConstantTooHuge", with("c: f32[4294967296, 4294967296] = {1}"),
     "2:2: shape [4294967296, 4294967296] has no element count"},
    {"ConstantOutOfRange", with("c: i8[1] = {128}"), "2:2: `128` is no i8"},
    {"ConstantOutOfHalfRange", with("c: f16[1] = {1e5}"), "2:2: `1e5` is no f16"},
    {"ConstantNotBool", with("c: bool[1] = {2}"), "2:2: `2` is no bool"},
    {"ConstantOfTexts", with("c: string[1] = {2}"), "2:2: elements of type string have no text"},
    {"ConstantSymbolic", with("c: f32[n] = {1}"), "2:2: the shape of a constant must be numbers"},
    {"ConstantNoHash", with("c: f32[1] = constant 12"),
     "2:23: expected a hash such as 0x9a, found `12`"},
    {"ConstantUnknown", with("c: f32[1] = constant 0x12"),
     "2:2: the values of constant `c` are not in this text and were not given with it"},
    {"QuoteNotClosed", with("\"y = relu(x)"), "2:2: quoted text does not end on its line"},
    {"BadEscape", with("\"\\q\" = relu(x)"),
     "2:2: unknown escape in a quoted text; known are \\\" \\\\ \\n \\t \\xHH"},
    {"StrangeCharacter", with("y = relu(é)"), "2:11: unexpected character \"é\""},
    {"NoSymbol", "graph g\n symbols 3", "2:10: expected the name of a symbol"},
};

INSTANTIATE_TEST_SUITE_P(Messages, TextErrorTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TextError, AConstantOfAnotherTypeIsRefused) {
  const TinyCatalog ops;
  const auto graph = parse_graph("graph\n c: f32[2] = constant 0x1\n return c", ops, infer_tiny,
                                 [](std::uint64_t) {
                                   return constant({1, 2, 3});
                                 });
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().to_string(), "2:2: the constant with this hash is f32[3]");
}

TEST(Error, ShowsPlaceMessageAndHint) {
  Error error = invalid_input("no such operator", "see the list");
  EXPECT_EQ(error.to_string(), "no such operator (see the list)");
  error.where = "3:7";
  EXPECT_EQ(error.at("a.graph").to_string(), "a.graph:3:7: no such operator (see the list)");
  EXPECT_EQ(error.at("a").at("node b").where, "node b: a:3:7");
}

}  // namespace
}  // namespace soapstone::core
