// Layouts, conversions and signatures of execution plans.
#include "runtime/launches/execution_plan.h"

#include <set>

#include "tests/runtime/channels_last_backend.h"
#include "tests/runtime/random_graph.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

constexpr std::string_view kTrunk = R"(
  x: f32[1, 4, 5, 5]
  w: f32[4, 4, 3, 3]
  b: f32[4, 1, 1]
  y = conv(x, w; pads=[1, 1, 1, 1])
  z = conv(y, w; pads=[1, 1, 1, 1])
  s = add(y, z)
  p, q = split(s; axis=1, sizes=[2, 2])
  r = reshape(p; shape=[2, 25])
  t = tanh(q)
  return r, t
)";

TEST(ExecutionPlan, ConvertsOnlyAtBorders) {
  const core::Graph graph = parse(kTrunk);
  const ExecutionPlan plan = plan_execution(graph, ChannelsLastBackend(), Fusion::kNone);
  std::vector<std::string> converted;
  for (const Conversion& conversion : plan.conversions) {
    EXPECT_NE(conversion.from, conversion.to);
    converted.push_back(graph.tensor(conversion.tensor).name);
  }
  // Inputs go in; p comes out for the reshape, q for tanh, which wants row-major.
  EXPECT_EQ(converted, (std::vector<std::string>{"x", "w", "p", "q"}));
  EXPECT_EQ(plan.views.size(), 1u);
  EXPECT_EQ(plan.launches.size(), 5u);  // split is a copy when channels are innermost
}

TEST(ExecutionPlan, RowMajorBackendConvertsNothing) {
  const core::Graph graph = parse(kTrunk);
  const ExecutionPlan plan = plan_execution(graph, *make_reference_backend(), Fusion::kNone);
  EXPECT_TRUE(plan.conversions.empty());
  EXPECT_EQ(plan.views.size(), 2u);  // split is a view
  EXPECT_EQ(plan.launches.size(),
            plan_launches(graph, generic_fusion(Fusion::kNone)).launches.size());
}

TEST(ExecutionPlan, StepsCoverEverythingOnce) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const core::Graph graph = RandomGraph(seed).make(25);
    const ExecutionPlan plan = plan_execution(graph, ChannelsLastBackend(), Fusion::kFull);
    EXPECT_EQ(plan.steps.size(),
              plan.launches.size() + plan.conversions.size() + plan.views.size());
    std::multiset<std::size_t> nodes;
    for (const Launch& launch : plan.launches) {
      for (core::NodeId id : launch.nodes()) nodes.insert(id.index());
    }
    for (const View& view : plan.views) nodes.insert(view.node.index());
    for (core::NodeId id : plan.folded) nodes.insert(id.index());
    EXPECT_EQ(nodes.size(), graph.order().size()) << "seed " << seed;
    for (core::NodeId id : graph.order()) EXPECT_EQ(nodes.count(id.index()), 1u);
  }
}

struct Signature {
  std::string text;
  std::uint64_t hash;
};

Signature first_signature(std::string_view body, const LaunchLayouts& layouts = {}) {
  const core::Graph graph = parse(body);
  const LaunchPlan plan = plan_launches(graph, generic_fusion(Fusion::kFull));
  return {launch_signature(graph, plan.launches[0], layouts),
          launch_hash(graph, plan.launches[0], layouts)};
}

TEST(Signature, DoesNotDependOnNamesOrOtherNodes) {
  const Signature a = first_signature("\n  x: f32[2, 3]\n  y = relu(x)\n  return y\n");
  const Signature b = first_signature(
      "\n  p: f32[4]\n  q: f32[2, 3]\n  r = relu(q)\n  s = tanh(p)\n  return r, s\n");
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.text, "relu(%0) | %0: f32[2, 3] | result: f32[2, 3]");
}

TEST(Signature, DependsOnAllThatMatters) {
  const std::string same = "\n  x: f32[2, 3]\n  y: f32[2, 3]\n";
  const std::vector<Signature> signatures = {
      first_signature(same + "  z = add(x, y)\n  return z\n"),
      first_signature(same + "  z = add(x, x)\n  return z\n"),
      first_signature(same + "  z = mul(x, y)\n  return z\n"),
      first_signature(same + "  z = add(x, y)\n  r = relu(z)\n  return r\n"),
      first_signature("\n  x: f32[3, 2]\n  y: f32[3, 2]\n  z = add(x, y)\n  return z\n"),
      first_signature("\n  x: f32[2, 3]\n  y: f32[3]\n  z = add(x, y)\n  return z\n"),
      first_signature("\n  x: f32[2]\n  y: f32[2] = {1, 2}\n  z = add(x, y)\n  return z\n"),
      first_signature("\n  x: f32[2]\n  y: f32[2]\n  z = add(x, y)\n  return z\n"),
      first_signature("\n  x: f32[2]\n  y: f32[1] = {2}\n  z = add(x, y)\n  return z\n"),
      first_signature("\n  x: f32[2]\n  y: f32[1] = {3}\n  z = add(x, y)\n  return z\n"),
      first_signature("\n  x: f32[2]\n  y = clip(x; min=0.5)\n  return y\n"),
      first_signature("\n  x: f32[2]\n  y = clip(x; min=0.25)\n  return y\n"),
      first_signature("\n  x: f32[1, 2, 3]\n  y = relu(x)\n  return y\n"),
      first_signature("\n  x: f32[1, 2, 3]\n  y = relu(x)\n  return y\n",
                      {{Layout::kChannelsLast}, {Layout::kRowMajor}}),
      first_signature("\n  x: f32[1, 2, 3]\n  y = relu(x)\n  return y\n",
                      {{Layout::kChannelsLast}, {Layout::kChannelsLast}}),
  };
  std::set<std::string> texts;
  std::set<std::uint64_t> hashes;
  for (const Signature& signature : signatures) {
    texts.insert(signature.text);
    hashes.insert(signature.hash);
  }
  EXPECT_EQ(texts.size(), signatures.size());
  EXPECT_EQ(hashes.size(), signatures.size());
}

TEST(Signature, SameFactsSameHash) {
  // Over many launches: texts are equal exactly where hashes are.
  std::map<std::string, std::uint64_t> known;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const core::Graph graph = RandomGraph(seed).make(20);
    const ExecutionPlan plan = plan_execution(graph, ChannelsLastBackend(), Fusion::kFull);
    for (std::size_t i = 0; i < plan.launches.size(); ++i) {
      const std::uint64_t hash = launch_hash(graph, plan.launches[i], plan.layouts[i]);
      const auto text = launch_signature(graph, plan.launches[i], plan.layouts[i]);
      EXPECT_EQ(known.emplace(text, hash).first->second, hash) << text;
    }
  }
  std::set<std::uint64_t> hashes;
  for (const auto& [text, hash] : known) hashes.insert(hash);
  EXPECT_EQ(hashes.size(), known.size());
}

TEST(Signature, OfConversions) {
  const core::TensorType type{core::DataType::kFloat32, core::to_shape({1, 2, 3, 4}), true};
  EXPECT_EQ(conversion_signature(type, Layout::kRowMajor, Layout::kChannelsLast),
            "convert | %0: f32[1, 2, 3, 4] | result: f32[1, 2, 3, 4] channels-last");
  EXPECT_NE(conversion_hash(type, Layout::kRowMajor, Layout::kChannelsLast),
            conversion_hash(type, Layout::kChannelsLast, Layout::kRowMajor));
}

}  // namespace
}  // namespace soapstone::runtime::test
