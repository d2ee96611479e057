// The shipped rules on whole graphs: long random sequences of rewrites keep the function, and
// matching around a rewrite finds what matching everywhere finds there.
#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

/// All but laws of functions, which do not hold in the field.
const RuleSet& shipped_rules() {
  static const RuleSet kRules = [] {
    auto file = read_rule_folder(std::filesystem::path(SOAPSTONE_SOURCE_DIR) / "rules");
    CHECK(file.ok(), file.error().to_string());
    std::erase_if(file->rules, is_law_of_functions);
    return RuleSet(std::move(file->rules));
  }();
  return kRules;
}

constexpr std::string_view kGraphs[] = {
    R"(graph fire_module
  x: f32[1, 2, 4, 4]
  s: f32[2, 2, 1, 1]
  e1: f32[3, 2, 1, 1]
  e3: f32[3, 2, 3, 3]
  b1: f32[3]
  b3: f32[3]
  a = conv(x, s)
  b = relu(a)
  c = conv(b, e1, b1)
  d = relu(c)
  e = conv(b, e3, b3; pads=[1, 1, 1, 1])
  f = relu(e)
  g = concat(d, f; axis=1)
  h = max_pool(g; kernel=[2, 2], strides=[2, 2])
  i = global_average_pool(h)
  return i)",
    R"(graph attention
  x: f32[3, 4]
  wq: f32[4, 4]
  wk: f32[4, 4]
  wv: f32[4, 4]
  bq: f32[4]
  bk: f32[4]
  bv: f32[4]
  g: f32[4]
  h: f32[4]
  scale: f32[] = {0.5}
  q0 = matmul(x, wq)
  q1 = add(q0, bq)
  q2 = reshape(q1; shape=[3, 2, 2])
  q = transpose(q2; perm=[1, 0, 2])
  k0 = matmul(x, wk)
  k1 = add(k0, bk)
  k2 = reshape(k1; shape=[3, 2, 2])
  k = transpose(k2; perm=[1, 2, 0])
  v0 = matmul(x, wv)
  v1 = add(v0, bv)
  v2 = reshape(v1; shape=[3, 2, 2])
  v = transpose(v2; perm=[1, 0, 2])
  s = matmul(q, k)
  t = mul(s, scale)
  p = softmax(t; axis=2)
  o = matmul(p, v)
  o1 = transpose(o; perm=[1, 0, 2])
  o2 = reshape(o1; shape=[3, 4])
  r = add(o2, x)
  y = layer_norm(r, g, h; axis=1)
  return y)",
    R"(graph cell
  x: f32[2, 3]
  h: f32[2, 4]
  w1: f32[3, 4]
  w2: f32[3, 4]
  w3: f32[3, 4]
  u1: f32[4, 4]
  u2: f32[4, 4]
  u3: f32[4, 4]
  a1 = matmul(x, w1)
  b1 = matmul(h, u1)
  c1 = add(a1, b1)
  d1 = tanh(c1)
  a2 = matmul(x, w2)
  b2 = matmul(h, u2)
  c2 = add(a2, b2)
  d2 = tanh(c2)
  a3 = matmul(x, w3)
  b3 = matmul(h, u3)
  c3 = mul(a3, b3)
  d3 = sigmoid(c3)
  e = mul(d1, d2)
  f = add(e, d3)
  return f)",
    R"(graph residual
  x: f32[1, 4, 3, 3]
  w: f32[4, 4, 3, 3]
  v: f32[4, 2, 1, 1]
  gamma: f32[4]
  beta: f32[4]
  mean: f32[4]
  var: f32[4]
  a = conv(x, w; pads=[1, 1, 1, 1])
  b = batch_norm(a, gamma, beta, mean, var)
  c = relu(b)
  d = conv(c, v; group=2)
  e = conv(x, v; group=2)
  f = add(d, e)
  g = add(f, x)
  p, q = split(g; axis=1, sizes=[1, 3])
  r = relu(p)
  s = relu(q)
  t = average_pool(s; kernel=[2, 2], pads=[1, 1, 0, 0])
  return r, t)",
};

class RewriteWalk : public testing::TestWithParam<std::string_view> {};

TEST_P(RewriteWalk, KeepsTheFunction) {
  constexpr int kSteps = 40;
  constexpr std::size_t kMostNodes = 60;
  const RuleSet& rules = shipped_rules();
  const Graph original = graph_of(GetParam());
  const auto expected = field_outputs(original, 3);
  Random random(17);
  Graph graph = original;
  std::set<std::string> used;
  for (int step = 0; step < kSteps; ++step) {
    const auto found = all_matches(rules, graph);
    ASSERT_FALSE(found.empty());
    const auto& [id, match] = found[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(found.size()) - 1))];
    auto next = apply(graph, rules[id], match);
    if (closes_cycle(graph, rules[id], match)) {
      EXPECT_FALSE(next.ok());
    }
    if (!next) continue;
    ASSERT_EQ(field_outputs(*next, 3), expected) << print(rules[id]) << core::print(graph);
    used.insert(rules[id].base_name);
    if (next->order().size() <= kMostNodes) graph = *std::move(next);
  }
  EXPECT_GE(used.size(), 5u);
}

TEST_P(RewriteWalk, FindsTheSameMatchesAroundARewrite) {
  const RuleSet& rules = shipped_rules();
  const Graph graph = graph_of(GetParam());
  const auto found = all_matches(rules, graph);
  using Key = std::pair<core::RuleId, std::vector<NodeId>>;
  std::multiset<Key> before;
  for (const FoundMatch& m : found) before.emplace(m.rule, m.match.nodes);
  for (std::size_t k = 0; k < std::min<std::size_t>(found.size(), 20); ++k) {
    auto next = apply(graph, rules[found[k].rule], found[k].match);
    if (!next) continue;
    std::vector<NodeId> changed;
    for (NodeId id : next->order())
      if (!graph.contains(id) || &graph.node(id) != &next->node(id)) changed.push_back(id);
    std::multiset<Key> around, everywhere;
    rules.for_each_match_at(*next, changed, [&](core::RuleId rule, const Match& match) {
      around.emplace(rule, match.nodes);
      return true;
    });
    for (const FoundMatch& m : all_matches(rules, *next)) {
      const Key key(m.rule, m.match.nodes);
      const bool touches = std::ranges::any_of(m.match.nodes, [&](NodeId id) {
        return std::ranges::find(changed, id) != changed.end();
      });
      if (touches)
        everywhere.insert(key);
      else
        EXPECT_TRUE(before.contains(key)) << "a match appeared where nothing changed";
    }
    EXPECT_EQ(around, everywhere);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RewriteWalk, testing::ValuesIn(kGraphs), [](const auto& test) {
  const std::string_view name = test.param.substr(std::string_view("graph ").size());
  return std::string(name.substr(0, name.find('\n')));
});

}  // namespace
}  // namespace soapstone::rules
