// Messages on rules that are not well formed: one case for each. Names that collide, and families.
#include "rules/rule/families.h"
#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

struct Case {
  std::string_view name, text, where, message;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class RuleError : public testing::TestWithParam<Case> {};

TEST_P(RuleError, SaysWhatIsWrongAndWhere) {
  const auto result = parse_rules(GetParam().text, "f.rules");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(result.error().where, GetParam().where) << result.error().to_string();
  EXPECT_THAT(result.error().message, testing::HasSubstr(GetParam().message));
  EXPECT_EQ(result.error().message.find("\nerror"), std::string::npos) << "one slip, one error";
}

const Case kCases[] = {
    {"OutsideOfRules", "x: [n]\n", "f.rules:1:1", "expected `rule`; the lines of a rule are"},
    {"IndentedBeforeRules", "  x: [n]\n", "f.rules:1:1", "expected `rule` before this line"},
    {"NoName", "rule\n  x: [n]\n", "f.rules:1:1", "expected the name of the rule"},
    {"NoSource", "rule r\n  x: [n]\n", "f.rules:3:1: rule r", "expected an input or `source`"},
    {"NoTarget", "rule r\n  x: [n]\n  source\n    y = neg(x)\n", "f.rules:5:1: rule r",
     "expected a statement or `target`"},
    {"NodeBeforeSource", "rule r\n  y = neg(x)\n  source\n  target\n", "f.rules:2:3: rule r",
     "an operator before `source`"},
    {"UnknownOperator", "rule r\n  x: [n]\n  source\n    y = negate(x)\n  target\n    y = x\n",
     "f.rules:4:9: rule r", "unknown operator `negate`"},
    {"Opaque", "rule r\n  x: [n]\n  source\n    y = opaque(x)\n  target\n    y = x\n",
     "f.rules:4:9: rule r", "a rule cannot say anything about opaque nodes"},
    {"UnknownTensor", "rule r\n  x: [n]\n  source\n    y = neg(z)\n  target\n    y = x\n",
     "f.rules:4:13: rule r", "`z` is not defined on this side"},
    {"SourceTensorInTarget",
     "rule r\n  x: [n]\n  source\n    t = neg(x)\n    y = neg(t)\n  target\n    y = relu(t)\n",
     "f.rules:7:14: rule r", "`t` is not defined on this side"},
    {"DefinedTwice", "rule r\n  x: [n]\n  source\n    x = neg(x)\n  target\n    y = x\n",
     "f.rules:4:5: rule r", "`x` is defined twice"},
    {"ResultNotInTarget",
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n    z = abs(x)\n  target\n    y = neg(x)\n",
     "f.rules:5:5: rule r", "the target does not define the result `z`"},
    {"UselessTensorInTarget",
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    t = abs(x)\n    y = x\n",
     "f.rules:6:5: rule r", "`t` is neither read nor a result"},
    {"NoResults", "rule r\n  x: [n]\n  source\n  target\n", "f.rules:5:1: rule r",
     "both sides must define the results by one name"},
    {"InputNotRead", "rule r\n  x: [n]\n  z: [n]\n  source\n    y = neg(x)\n  target\n    y = z\n",
     "f.rules:3:3: rule r", "the source does not read `z`"},
    {"UnknownShape", "rule r\n  x: [?]\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:2:3: rule r", "an input of a rule needs a shape"},
    {"SymbolicConstant",
     "rule r\n  x: [n]\n  c: [n] = {1}\n  source\n    y = add(x, c)\n  target\n    y = x\n",
     "f.rules:3:3: rule r", "needs sizes and values in numbers"},
    {"ConstantOfWrongSize",
     "rule r\n  x: [n]\n  c: [2] = {1}\n  source\n    y = add(x, c)\n  target\n    y = x\n",
     "f.rules:3:3: rule r", "has 2 elements, but 1 are given"},
    {"SameSides", "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    y = neg(x)\n",
     "f.rules:1:1: rule r", "source and target are the same"},
    {"FreeSymbol",
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    t = expand(x; shape=[m, n])\n"
     "    u = slice(t; axes=[0], starts=[0], sizes=[1], steps=[1])\n    y = reshape(u; "
     "shape=[n])\n",
     "f.rules:1:1: rule r", "the source does not determine `m`"},
    {"UnsolvableSize", "rule r\n  x: [n + m]\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:1:1: rule r", "the source does not determine `n`"},
    {"SourceInParts",
     "rule r\n  x: [n]  z: [n]\n  source\n    y = neg(x)\n    w = neg(z)\n  target\n    y = x\n"
     "    w = z\n",
     "f.rules:1:1: rule r", "the source falls into parts that share no tensor"},
    {"SourceNeedsEquation",
     "rule r\n  x: [n]  z: [m]\n  source\n    y = add(x, z)\n  target\n    y = add(z, x)\n",
     "f.rules:1:1: rule r", "the source needs n - m = 0 [add.broadcast]"},
    {"TargetNeedsEquationWithParameters",
     "rule r\n  x: [n, c, h, w]  a: [o, c, 1, 1]\n  source\n    y = conv(x, a; strides=[s, s])\n"
     "  target\n    t = conv(x, a; strides=[s, s])\n    u = matmul(a, t)\n    y = add(u, t)\n",
     "f.rules:1:1: rule r", "= 0 [matmul.contraction], which does not follow from the source"},
    {"OtherRank",
     "rule r\n  x: [n, m]\n  source\n    y = neg(x)\n  target\n    y = reshape(x; shape=[n*m])\n",
     "f.rules:1:1: rule r", "`y` is f32[n, m] in the source but f32[n*m] in the target"},
    {"OtherSize",
     "rule r\n  x: [n, m]\n  source\n    y = neg(x)\n  target\n    y = concat(x, x; axis=0)\n",
     "f.rules:1:1: rule r", "the target needs -n = 0 [rule.result_shape], which no sizes satisfy"},
    {"ShapeRuleOfSource",
     "rule r\n  x: [n, m]\n  source\n    y = softmax(x; axis=2)\n  target\n    y = x\n",
     "f.rules:4:9: rule r", "axis 2 is not one of a tensor of rank 2"},
    {"ShapeRuleOfTarget",
     "rule r\n  x: [n, m]\n  source\n    y = neg(x)\n  target\n    y = transpose(x; perm=[0])\n",
     "f.rules:6:9: rule r", "perm must have each of the 2 dimensions once"},
    {"NumberOfResults",
     "rule r\n  x: [2*n]\n  source\n    y = split(x; axis=0, sizes=[n, n])\n  target\n    y = x\n",
     "f.rules:4:9: rule r", "split has 2 results, but 1 names are given"},
    {"LargeNumber",
     "rule r\n  x: [9000000000000000000*n]\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:1:1: rule r", "a number in the rule is larger than a million"},
    {"RealAttributeIsNoSymbol",
     "rule r\n  x: [n]\n  source\n    y = leaky_relu(x; alpha=2*a)\n  target\n    y = x\n",
     "f.rules:4:23: rule r", "a real attribute is a number or a symbol alone in the source"},
    {"WrongCondition",
     "rule r\n  x: [n]\n  where n\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:4:3: rule r", "expected `=`, `!=`, `<`, `<=`, `>` or `>=`"},
    {"LargeCondition",
     "rule r\n  x: [n]\n  where 9000000000000000000*n < -9000000000000000000*n\n  source\n"
     "    y = neg(x)\n  target\n    y = x\n",
     "f.rules:3:9: rule r", "a number in the condition does not fit into 64 bits"},
    {"ManyCases",
     "rule r\n  x: [n]\n  where n != 1, n != 2, n != 3, n != 4, n != 5, n != 6, n != 7\n"
     "  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:1:1: rule r", "more than 6 conditions with `!=`"},
    {"NameOnBothSides",
     "rule r\n  x: [n]\n  source\n    t = neg(x)\n    y = relu(t)\n  target\n    t = abs(x)\n"
     "    y = sigmoid(t)\n",
     "f.rules:7:5: rule r",
     "`t` is defined on both sides, and the source reads it: is it a result?"},
    {"NameReadInTargetAlone",
     "rule r\n  x: [n]\n  source\n    t = neg(x)\n    y = relu(x)\n  target\n    t = neg(x)\n"
     "    y = abs(t)\n",
     "f.rules:7:5: rule r",
     "`t` is defined on both sides, and the target reads it: is it a result?"},
    {"ResultNowhere",
     "rule r\n  x: [n]\n  results y, z\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:3:14: rule r", "`z` is a result, but the source does not compute it"},
    {"ResultOfOneSide",
     "rule r\n  x: [n]\n  result y, z\n  source\n    y = neg(x)\n    z = abs(x)\n  target\n"
     "    y = x\n",
     "f.rules:3:13: rule r", "`z` is a result, but the target does not compute it"},
    {"ResultsWithoutName", "rule r\n  x: [n]\n  results\n    = 1\n", "f.rules:4:5: rule r",
     "expected the name of a result"},
    {"ChoiceOfADeterminedSize",
     "rule r\n  x: [n]\n  choose n in 1..5\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:3:10: rule r", "`n` cannot be chosen: the source determines it"},
    {"ChoiceWithoutRange",
     "rule r\n  x: [n]\n  choose p in n\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:4:3: rule r", "expected `.`"},
    {"ChoiceOfANumber",
     "rule r\n  x: [n]\n  choose 3 in 1..n\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:3:10: rule r", "expected the size that may be chosen"},
    {"ChoiceWithinNothing",
     "rule r\n  x: [n]\n  choose p in 1..q\n  source\n    y = neg(x)\n  target\n"
     "    a, b = split(x; axis=0, sizes=[p, n - p])\n    y = concat(a, b; axis=0)\n",
     "f.rules:1:1: rule r", "the source does not determine"},
    {"QuotientBySymbol", "rule r\n  x: [n/m]\n", "f.rules:2:9: rule r",
     "a size is divided by a number from 1 on"},
    {"QuotientByZero", "rule r\n  x: [n/0]\n", "f.rules:2:9: rule r",
     "a size is divided by a number from 1 on"},
    {"QuotientOfNothing", "rule r\n  x: [/2]\n", "f.rules:2:7: rule r",
     "expected a size before `/`"},
    {"QuotientOfNoSize", "rule r\n  x: [(n m)/2]\n", "f.rules:2:12: rule r", "`n m` is no size"},
    {"QuotientOfNumbers", "rule r\n  for A in ranks(0..1)\n  x: [(|A| + 3)/2]\n",
     "f.rules:3:14: rule r", "3 is not divisible by 2"},
    {"OptionalInputUsedPlainly",
     "rule r\n  x: [n, c, h, w]  a: [o, c, 1, 1]  b: [o]\n  source\n    t = conv(x, a, b?)\n"
     "    y = relu(t)\n  target\n    y = conv(x, a, b)\n",
     "f.rules:7:20: rule r", "`b` may be left out: write `b?` here as well"},
    {"ManyOptionalInputs", "rule r\n  x: [n]\n  source\n    y = concat(a?, b?, c?, d?; axis=0)\n",
     "f.rules:1:1: rule r", "a rule has more than 3 optional inputs"},
    {"RealOfASize",
     "rule r\n  x: [n]\n  source\n    y = leaky_relu(x; alpha=a)\n  target\n"
     "    y = leaky_relu(x; alpha=n)\n",
     "f.rules:1:1: rule r", "the real number `n` is no real attribute of the source"},
    {"RealDivided",
     "rule r\n  x: [n]\n  source\n    y = leaky_relu(x; alpha=a)\n  target\n"
     "    y = leaky_relu(x; alpha=a/2)\n",
     "f.rules:1:1: rule r", "a real attribute has sums and products of reals alone"},
    {"RealAndInteger",
     "rule r\n  x: [a]\n  source\n    y = leaky_relu(x; alpha=a)\n  target\n"
     "    t = neg(x)\n    y = leaky_relu(t; alpha=a)\n",
     "f.rules:1:1: rule r", "`a` stands for a real number and for an integer"},
    {"NoInstance",
     "rule r\n  x: [n]\n  where 1 = 2\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:1:1: rule r", "`where` leaves out every instance"},
    {"TwiceInAFile",
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    y = x\n"
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    y = x\n",
     "f.rules:7:1", "rule `r` is there twice"},
    {"UnknownFloats",
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    y = x\n  checked 1; floats: fine\n",
     "f.rules:7:3: rule r",
     "floats are `exact`, `reassociates`, `extends-range`, `changes-range`, not `fine`"},
    {"AfterTheEvidence",
     "rule r\n  x: [n]\n  source\n    y = neg(x)\n  target\n    y = x\n  checked 1\n  y\n",
     "f.rules:8:3: rule r", "expected the end of the rule"},
    {"RanksWithoutRange", "rule r\n  for A in ranks(3)\n  x: [A..]\n", "f.rules:2:18: rule r",
     "expected ranks such as 0..3"},
    {"RanksTooHigh", "rule r\n  for A in ranks(0..9)\n  x: [A..]\n", "f.rules:2:18: rule r",
     "ranks go from a to b"},
    {"RankWithoutDots", "rule r\n  for A in ranks(0..1)\n  x: [A]\n", "f.rules:3:7: rule r",
     "`A` stands for dimensions: write `A..` or `|A|`"},
    {"PermsOfNothing", "rule r\n  for P in perms(x)\n  x: [n]\n", "f.rules:2:18: rule r",
     "perms(n) needs a rank from 0 to 5"},
    {"SeveralForRanks", "rule r\n  for (A, B) in ranks(0..1)\n  x: [n]\n", "f.rules:2:17: rule r",
     "this set has single values, but several parameters are given"},
    {"ValueIsMissing", "rule r\n  for f in {relu, }\n  x: [n]\n", "f.rules:2:19: rule r",
     "expected a value"},
    {"NoPermutation", "rule r\n  x: [n, m]\n  source\n    y = transpose(x; perm=inverse([0, 2]))\n",
     "f.rules:4:35: rule r", "this is no permutation"},
    {"PermutationOfASymbol",
     "rule r\n  x: [n, m]\n  source\n    y = transpose(x; perm=inverse(p))\n",
     "f.rules:4:27: rule r", "`inverse` takes permutations"},
    {"EachWithoutRange", "rule r\n  each i of 1..3 x{i}: [n]\n", "f.rules:2:3: rule r",
     "expected `each i in 1..3`"},
    {"FamilyThatGoesBack", "rule r\n  x{3..1}: [n]\n", "f.rules:2:4: rule r",
     "expected a number or a range such as {1..3} after `x`"},
    {"FamilyWithoutNumber", "rule r\n  x{i}: [n]\n", "f.rules:2:4: rule r",
     "expected a number or a range such as {1..3} after `x`"},
};

INSTANTIATE_TEST_SUITE_P(All, RuleError, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RuleFileError, TellsAllErrorsAtOnce) {
  const auto result =
      parse_rules("rule a\n  x: [n]\n  source\n    y = nag(x)\n  target\n    y = x\n"
                  "rule fine\n  x: [n]\n  source\n    t = neg(x)\n    y = neg(t)\n"
                  "  target\n    y = x\n"
                  "stray\n"
                  "rule b\n  x: [n]\n  source\n    y = neg(x)\n  target\n"
                  "    t = expand(x; shape=[m, n])\n    y = reshape(t; shape=[n])\n"
                  "rule c\n  x: [n]\n  source\n    y = relu(z)\n  target\n    y = x\n",
                  "f.rules");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().where, "f.rules:4:9: rule a");
  const std::string& message = result.error().message;
  EXPECT_THAT(message, testing::StartsWith("unknown operator `nag`\nhint: "));
  const std::size_t a = message.find(
                        "\nerror: f.rules:14:1: expected `rule`; the lines of a rule are"),
                    b = message.find(
                        "\nerror: f.rules:15:1: rule b: the source does not determine"),
                    hint = message.find("\nhint: if any size will do, say from where to where"),
                    c = message.find("\nerror: f.rules:25:14: rule c: `z` is not defined");
  EXPECT_LT(a, b);
  EXPECT_LT(b, hint);
  EXPECT_LT(hint, c);
  EXPECT_NE(c, std::string::npos) << message;
  EXPECT_EQ(message.find("rule fine"), std::string::npos);
}

TEST(RuleFileError, CountsWhatIsTooMuchToTell) {
  std::string text;
  for (int k = 0; k < 130; ++k) text += "rule r" + std::to_string(k) + "\n  x: [n\n";
  const auto result = parse_rules(text);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().hint, "30 more errors follow when these are gone");
}

TEST(RuleFileError, NamesFilesAndFolders) {
  const auto file = read_rules("/nowhere/x.rules");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().where, "/nowhere/x.rules");
  const auto folder = read_rule_folder("/nowhere");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().where, "/nowhere");
  EXPECT_FALSE(read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "core").ok());
}

TEST(RuleError, SurvivesTruncatedText) {
  const std::string whole = R"(
rule r
  for (f, P) in {(relu, [1, 0])}
  for A in ranks(0..1)
  each i in 1..2  x{i}: [A.., n, m{i}] constant  c{i}: [] = {1.5}
  where n >= 2, n/2 != m{1}
  choose p in 1..n/2
  results y, z
  source
    each i in 1..2  y{i} = f(x{i})  z{i} = mul(y{i}, c{i})
    z = concat(z{1..2}; axis=|A|+1)
  target
    x = concat(x{1..2}; axis=|A|+1)
    y = f(x)
    z = leaky_relu(y; alpha=0.5)
  checked 2^61-1, 3 sizes; floats: exact
)";
  for (std::size_t length = 0; length < whole.size(); ++length)
    (void)parse_rules(whole.substr(0, length));
}

Rule rule_at(const std::string& name, const std::string& file, int line) {
  Rule made;
  made.base_name = name;
  made.file = file;
  made.line = line;
  return made;
}

TEST(Families, AreInstancesOfOneRuleOfOneFile) {
  const std::vector<Rule> rules = {rule_at("a", "x", 1), rule_at("a", "x", 1), rule_at("b", "x", 9),
                                   rule_at("b", "y", 9), rule_at("b", "y", 20)};
  std::vector<std::size_t> sizes;
  for (const auto family : families(rules)) sizes.push_back(family.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 1, 1, 1}));
  EXPECT_TRUE(families(std::vector<Rule>()).empty());
}

TEST(Families, OfOneNameInTwoFilesAreRefused) {
  std::vector<Rule> rules = {rule_at("a", "x", 1), rule_at("a", "x", 1), rule_at("b", "y", 2)};
  EXPECT_TRUE(check_names(rules, {}));
  rules.push_back(rule_at("a", "", 3));
  const core::Status refused = check_names(rules, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(),
            "line 3 of the rules given as text: there are two rules a: the other one is at x:1 "
            "(rename one of them)");
}

}  // namespace
}  // namespace soapstone::rules
