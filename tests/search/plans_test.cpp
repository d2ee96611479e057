// Linear parts and windows through the whole optimization: what comes out costs less, is equal, and
// its chain of proofs replays.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/launches/backend.h"
#include "search/optimize.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

using testing::HasSubstr;

/// A forecast: a linear layer on a moving average, and one on what it leaves.
constexpr std::string_view kForecast = R"(graph forecast
  x: f32[2, 24, 3]
  first = slice(x; axes=[1], starts=[0], sizes=[1], steps=[1])
  last = slice(x; axes=[1], starts=[23], sizes=[1], steps=[1])
  c = concat(first, first, x, last, last; axis=1)
  t = transpose(c; perm=[0, 2, 1])
  a = average_pool(t; kernel=[5], strides=[1], dilations=[1], pads=[0, 0])
  m = transpose(a; perm=[0, 2, 1])
  d = sub(x, m)
  dt = transpose(d; perm=[0, 2, 1])
  mt = transpose(m; perm=[0, 2, 1])
  p = matmul(dt, w0)
  q = add(p, b0)
  r = matmul(mt, v0)
  s = add(q, r)
  y = tanh(s)
  return y
)";

/// Three depthwise windows of one image, summed.
constexpr std::string_view kWindows = R"(graph windows
  x: f32[1, 8, 10, 10]
  p = conv(x, a0; pads=[2, 2, 2, 2], group=8)
  q = conv(x, b0; pads=[2, 2, 2, 2], dilations=[2, 2], group=8)
  r = conv(x, c0, d0; pads=[1, 1, 1, 1], group=8)
  s = add(p, q)
  t = add(s, r)
  y = relu(t)
  return y
)";

/// With constants of those names and shapes.
core::Graph with_constants(std::string text,
                           const std::vector<std::pair<std::string, std::string>>& types) {
  std::string nodes;
  double value = 0.5;
  for (const auto& [name, shape] : types) {
    nodes += fmt::format("  {} = full(; shape={}, value={})\n", name, shape, value);
    value *= 0.5;
  }
  text.insert(text.rfind('\n', text.find(" = ")) + 1, nodes);
  return graph_of(text);
}

class Plans : public ::testing::Test {
 protected:
  /// `kind`: how the names of the rules begin that plans may use.
  void expect_taken(const core::Graph& graph, std::string_view rule, std::size_t launches,
                    const std::string& kind = "") {
    const rules::RuleSet none(std::vector<rules::Rule>{});
    verifier::Admission baseline(none), admission(none);
    OptimizeOptions options;
    options.measure = false;
    options.assume_finite = true;  // One wide tower carries 0·NaN from one tower to the other.
    options.search.admits_made = [&](const rules::Rule& made) {
      return made.base_name.starts_with(kind);
    };
    const auto report = optimize(graph, baseline, admission, *cost_, *backend_, options,
                                 core::silent(), core::StopToken());
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_EQ(report->result, ResultKind::kRewritten);
    ASSERT_TRUE(report->equivalence);
    EXPECT_TRUE(report->equivalence->equal);
    EXPECT_EQ(cost_->graph_cost(report->graph).launches, launches);
    const std::string text = print(report->chain);
    EXPECT_THAT(text, HasSubstr(std::string(rule)));
    const auto chain = parse_chain(text);
    ASSERT_TRUE(chain.ok()) << chain.error().to_string() << "\n" << text;
    const auto again = replay(*chain, graph, *backend_, {}, core::silent(), core::StopToken{});
    ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
    EXPECT_TRUE(same_structure(again->graph, report->graph));
  }

  const std::unique_ptr<cost::CostModel> cost_ = cost::make_roofline_cost(runtime::Fusion::kFull);
  const std::unique_ptr<runtime::Backend> backend_ = runtime::make_reference_backend();
};

core::Graph forecast() {
  return with_constants(std::string(kForecast),
                        {{"w0", "[24, 6]"}, {"b0", "[6]"}, {"v0", "[24, 6]"}});
}

/// Queries and keys, turned by their position as a rotary embedding does.
core::Graph turned() {
  const auto turn = [](std::string_view of, std::string_view name) {
    return fmt::format("  {1}p = matmul(x, {0})\n"
                       "  {1}h, {1}l = split({1}p; axis=2, sizes=[8, 8])\n  {1}n = neg({1}l)\n"
                       "  {1}t = concat({1}n, {1}h; axis=2)\n  {1}c = mul({1}p, cos)\n"
                       "  {1}s = mul({1}t, sin)\n  {1} = add({1}c, {1}s)\n",
                       of, name);
  };
  return with_constants(
      "graph turned\n  u: f32[1, 32, 16]\n  x = relu(u)\n" + turn("w0", "q") + turn("v0", "k") +
          "  t = transpose(k; perm=[0, 2, 1])\n  y = matmul(q, t)\n"
          "  return y\n",
      {{"w0", "[16, 16]"}, {"v0", "[16, 16]"}, {"cos", "[32, 16]"}, {"sin", "[32, 16]"}});
}

TEST_F(Plans, TurnQueriesAndKeysInOneProduct) { expect_taken(turned(), "linear_map_of_", 3); }

TEST_F(Plans, MakeOneProductOfALinearPart) { expect_taken(forecast(), "linear_map_of_matmul", 1); }

TEST_F(Plans, MakeOneConvolutionOfWindows) {
  const core::Graph graph = with_constants(
      std::string(kWindows),
      {{"a0", "[8, 1, 5, 5]"}, {"b0", "[8, 1, 3, 3]"}, {"c0", "[8, 1, 3, 3]"}, {"d0", "[8]"}});
  expect_taken(graph, "window_of_sum", 1);
}

/// Attention and a layer behind it, of which one row is read; keys and values are whole.
core::Graph one_row() {
  return with_constants(R"(graph row
  x: f32[1, 64, 32]
  q = matmul(x, w0)
  k = matmul(x, v0)
  t = transpose(k; perm=[0, 2, 1])
  s = matmul(q, t)
  p = softmax(s; axis=2)
  o = matmul(p, x)
  r = add(o, x)
  m = matmul(r, u0)
  g = gelu(m)
  y = slice(g; axes=[1], starts=[63], sizes=[1], steps=[1])
  return y
)",
                        {{"w0", "[32, 32]"}, {"v0", "[32, 32]"}, {"u0", "[32, 128]"}});
}

/// A layer on all pairs of objects.
core::Graph pairs() {
  return with_constants(R"(graph pairs
  x: f32[1, 32, 64]
  a = reshape(x; shape=[1, 32, 1, 64])
  b = reshape(x; shape=[1, 1, 32, 64])
  u = expand(a; shape=[1, 32, 32, 64])
  v = expand(b; shape=[1, 32, 32, 64])
  c = concat(u, v; axis=3)
  m = matmul(c, w0)
  n = add(m, b0)
  y = tanh(n)
  return y
)",
                        {{"w0", "[128, 64]"}, {"b0", "[64]"}});
}

/// The same with one row for each pair.
core::Graph flat_pairs() {
  return with_constants(R"(graph pairs
  x: f32[1, 32, 64]
  a = reshape(x; shape=[1, 32, 1, 64])
  b = reshape(x; shape=[1, 1, 32, 64])
  u = expand(a; shape=[1, 32, 32, 64])
  v = expand(b; shape=[1, 32, 32, 64])
  c = concat(u, v; axis=3)
  r = reshape(c; shape=[1024, 128])
  m = matmul(r, w0)
  n = add(m, b0)
  y = tanh(n)
  return y
)",
                        {{"w0", "[128, 64]"}, {"b0", "[64]"}});
}

TEST_F(Plans, ComputeWhatIsRead) { expect_taken(one_row(), "part_of_softmax", 5); }

TEST_F(Plans, ComputeNothingTwice) {
  expect_taken(pairs(), "repeated_parts_of_matmul", 3, "repeated_");
}

TEST_F(Plans, ComputeNothingTwiceInFlatRows) {
  expect_taken(flat_pairs(), "repeated_parts_of_matmul", 2);
}

/// Two towers of unlike widths behind one image, joined.
core::Graph towers() {
  return with_constants(R"(graph towers
  x: f32[1, 4, 8, 8]
  p = conv(x, w0, b0; pads=[1, 1, 1, 1])
  q = conv(x, v0, c0; pads=[1, 1, 1, 1])
  a = relu(p)
  b = relu(q)
  c = conv(a, w1)
  d = conv(b, v1)
  e = tanh(c)
  f = tanh(d)
  y = concat(e, f; axis=1)
  return y
)",
                        {{"w0", "[6, 4, 3, 3]"},
                         {"b0", "[6]"},
                         {"v0", "[3, 4, 3, 3]"},
                         {"c0", "[3]"},
                         {"w1", "[5, 6, 1, 1]"},
                         {"v1", "[2, 3, 1, 1]"}});
}

TEST_F(Plans, MakeOneWideTowerOfTwo) { expect_taken(towers(), "blocks_of_conv", 2); }

TEST_F(Plans, TakeApartWhatEndsUnlike) {
  const core::Graph graph = with_constants(R"(graph heads
  x: f32[1, 8, 6, 6]
  m = conv(x, w0, b0; pads=[1, 1, 1, 1])
  p, q = split(m; axis=1, sizes=[2, 1])
  y = sigmoid(p)
  z = tanh(q)
  return y, z
)",
                                           {{"w0", "[3, 8, 3, 3]"}, {"b0", "[3]"}});
  expect_taken(graph, "parts_of_conv", 2);
}

/// Distances from points: their sums of squares are made products before all that is linear becomes
/// one map. The orders that are tried make the map first.
TEST_F(Plans, AreTakenInAnyOrder) {
  const core::Graph graph = with_constants(
      R"(graph kernel
  x: f32[64, 20]
  t = sub(x, c0)
  s = div(t, c1)
  u = reshape(s; shape=[64, 1, 20])
  d = sub(u, p0)
  q = mul(d, d)
  r = reduce_sum(q; axes=[2])
  v = reshape(r; shape=[64, 50])
  m = mul(v, n0)
  e = exp(m)
  y = matmul(e, w0)
  return y
)",
      {{"c0", "[20]"}, {"c1", "[20]"}, {"p0", "[1, 50, 20]"}, {"n0", "[]"}, {"w0", "[50, 1]"}});
  expect_taken(graph, "scaled_product_of_mul", 4);
}

TEST_F(Plans, ScaleOnePartOfANorm) {
  const core::Graph graph = with_constants(R"(graph parts
  x: f32[2, 32, 16]
  m = layer_norm(x, w0, b0; axis=2)
  q, k = split(m; axis=2, sizes=[8, 8])
  s = mul(q, c0)
  t = transpose(k; perm=[0, 2, 1])
  y = matmul(s, t)
  return y
)",
                                           {{"w0", "[16]"}, {"b0", "[16]"}, {"c0", "[]"}});
  expect_taken(graph, "factor_of_split", 3);
}

TEST_F(Plans, AreNotMadeUnlessTheyMayBe) {
  const rules::RuleSet none(std::vector<rules::Rule>{});
  verifier::Admission admission(none);
  const SearchResult result =
      search(forecast(), admission, *cost_, {}, core::silent(), core::StopToken());
  EXPECT_TRUE(result.best.empty());
  EXPECT_TRUE(admission.rules().rules().empty());
}

}  // namespace
}  // namespace soapstone::search
