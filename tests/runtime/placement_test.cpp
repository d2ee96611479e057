// Tensors that share bytes: views and parts of joins lie where they should, and results are written
// over inputs where nobody reads these later. executor_test tries it all on random graphs.
#include "runtime/memory/placement.h"

#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

using InPlace = std::vector<std::optional<std::size_t>>;

core::TensorId named(const core::Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    if (graph.contains(core::TensorId(i)) && graph.tensor(core::TensorId(i)).name == name)
      return core::TensorId(i);
  }
  ADD_FAILURE() << "no tensor " << name;
  return core::TensorId::none();
}

std::size_t offset(const core::Graph& graph, const Placement& placement, std::string_view name) {
  return placement.of(named(graph, name), Layout::kRowMajor).offset;
}

TEST(Placement, ViewsLieInsideTheirInput) {
  const core::Graph graph = parse(R"(
  x: f32[6, 32]
  y = relu(x)
  p, q = split(y; axis=0, sizes=[2, 4])
  s = slice(q; axes=[0], starts=[1], sizes=[2], steps=[1])
  r = reshape(s; shape=[64])
  t = tanh(r)
  return t, p
)");
  const ExecutionPlan plan = plan_execution(graph, *make_reference_backend(), Fusion::kNone);
  const Placement placement(graph, plan, InPlace(plan.launches.size()));
  EXPECT_EQ(offset(graph, placement, "q") - offset(graph, placement, "y"), 2u * 32 * 4);
  EXPECT_EQ(offset(graph, placement, "r") - offset(graph, placement, "y"), 3u * 32 * 4);
  EXPECT_EQ(placement.memory().slots.size(), 2u);
}

TEST(Placement, JoinsAreWrittenInPlace) {
  const core::Graph graph = parse(R"(
  x: f32[1, 32]
  a = relu(x)
  b = tanh(x)
  c = concat(a, b; axis=1)
  n = neg(x)
  d = concat(c, n; axis=1)
  return d
)");
  const ExecutionPlan plan = plan_execution(graph, *make_reference_backend(), Fusion::kNone);
  const Placement placement(graph, plan, InPlace(plan.launches.size()));
  EXPECT_EQ(plan.launches.size(), 3u);
  EXPECT_EQ(placement.memory().slots.size(), 1u);
  EXPECT_EQ(offset(graph, placement, "b") - offset(graph, placement, "d"), 32u * 4);
  EXPECT_EQ(offset(graph, placement, "n") - offset(graph, placement, "d"), 64u * 4);
}

Placement in_place_of(const core::Graph& graph, std::size_t launch, std::size_t input) {
  const ExecutionPlan plan = plan_execution(graph, *make_reference_backend(), Fusion::kNone);
  InPlace in_place(plan.launches.size());
  in_place[launch] = input;
  return Placement(graph, plan, in_place);
}

TEST(Placement, ResultMayOverwriteWhatDies) {
  const core::Graph graph =
      parse("\n  x: f32[64]\n  y = relu(x)\n  z = tanh(x)\n  s = add(y, z)\n  return s\n");
  const Placement placement = in_place_of(graph, 2, 0);
  EXPECT_EQ(offset(graph, placement, "s"), offset(graph, placement, "y"));
  EXPECT_EQ(placement.memory().slots.size(), 2u);
}

TEST(Placement, ResultMayNotOverwriteWhatIsReadLater) {
  const core::Graph graph =
      parse("\n  x: f32[64]\n  y = relu(x)\n  s = tanh(y)\n  t = add(s, y)\n  return t\n");
  const Placement placement = in_place_of(graph, 1, 0);
  EXPECT_NE(offset(graph, placement, "s"), offset(graph, placement, "y"));
}

TEST(Placement, ResultMayNotOverwriteInputsOutputsOrOtherArguments) {
  const core::Graph input = parse("\n  x: f32[64]\n  y = relu(x)\n  return y\n");
  EXPECT_EQ(in_place_of(input, 0, 0).of(named(input, "y"), Layout::kRowMajor).home,
            Placement::Home::kArena);
  const core::Graph output = parse("\n  x: f32[64]\n  y = relu(x)\n  s = tanh(y)\n  return s, y\n");
  const Placement kept = in_place_of(output, 1, 0);
  EXPECT_NE(offset(output, kept, "s"), offset(output, kept, "y"));
  const core::Graph twice =
      parse("\n  x: f32[8, 8]\n  y = relu(x)\n  r = reshape(y; shape=[8, 1, 8])\n"
            "  s = add(y, r)\n  return s\n");
  const Placement other = in_place_of(twice, 1, 0);
  EXPECT_NE(offset(twice, other, "s"), offset(twice, other, "y"));
}

}  // namespace
}  // namespace soapstone::runtime::test
