// Rules that name the sizes of one graph, at those of another one.
#include "search/proofs/resized_rule.h"

#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "rules/checking/counterexample.h"
#include "rules/matching/match_at.h"

namespace soapstone::search {
namespace {

using core::Polynomial;
using core::TensorId;
using Sizes = std::vector<Polynomial>;

/// Two is the batch and the number of heads here.
constexpr const char* kHeadsApart = R"(
rule heads_apart
  x: [2, 17, 32]
  placed
  source
    s = reshape(x; shape=[2, 17, 2, 16])
    y = transpose(s; perm=[0, 2, 1, 3])
  target
    a = reshape(x; shape=[2, 17, 2, 16])
    b = transpose(a; perm=[2, 0, 1, 3])
    y = transpose(b; perm=[1, 0, 2, 3])
)";

/// `second` is applied to the reshape, with these dimensions.
core::Graph heads(std::int64_t batch, const char* second) {
  core::GraphBuilder builder;
  const TensorId x = builder.add_input("x", {core::DataType::kFloat32, {batch, 17, 32}, true});
  const TensorId s =
      (*ops::append(builder, "reshape", {x}, {{"shape", Sizes{batch, 17, 2, 16}}}))[0];
  const core::Attributes attributes = second == std::string_view("transpose")
                                          ? core::Attributes{{"perm", Sizes{0, 2, 1, 3}}}
                                          : core::Attributes{};
  builder.set_outputs(*ops::append(builder, second, {s}, attributes));
  return *std::move(builder).finish();
}

TEST(ResizedRule, ANumberIsEachOfTheSizesThatItWas) {
  const rules::Rule rule = rules::parse_rules(kHeadsApart)->rules.at(0);
  const core::Graph graph = heads(3, "transpose");
  const auto found = resized(rule, graph, graph.order(), graph.inputs());
  ASSERT_FALSE(found.empty());
  for (const rules::Rule& way : found) {
    EXPECT_TRUE(rules::match_at(graph, way, graph.order(), graph.inputs()).has_value());
    const auto wrong = rules::find_counterexample(way, 1, 7);
    ASSERT_TRUE(wrong.ok());
    EXPECT_FALSE(wrong->has_value());
    const core::Node& reshape = way.target.node(way.target.order()[0]);
    EXPECT_EQ(reshape.attributes.get_ints("shape"), (core::Dims{3, 17, 2, 16}));
  }
}

TEST(ResizedRule, OtherOperatorsAreAnotherRewrite) {
  const rules::Rule rule = rules::parse_rules(kHeadsApart)->rules.at(0);
  const core::Graph graph = heads(3, "neg");
  EXPECT_TRUE(resized(rule, graph, graph.order(), graph.inputs()).empty());
}

}  // namespace
}  // namespace soapstone::search
