// Faults that programs for several devices have had: the check of programs refutes each with an
// element, and the programs that a plan becomes do not have it.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/lowering/step_cuts.h"
#include "parallel/training/training_step.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel {
namespace {

using core::TensorId;
using Programs = std::vector<RankProgram>;

/// A graph that two ranks compute.
struct Halves {
  core::Graph graph;
  std::vector<bool> is_weight;
  GraphLoops loops;
  PlannedCuts cuts{RankMesh(1, {2, 1, 1}, {})};

  /// Inputs that are called `w…` are weights.
  explicit Halves(const std::string& text, std::int64_t stages = 1)
      : graph(graph_of(text)),
        is_weight(graph.tensor_bound(), false), cuts{RankMesh(stages, {stages == 1 ? 2 : 1, 1, 1},
                                                              {})} {
    for (const TensorId id : graph.inputs())
      is_weight[id.index()] = graph.tensor(id).name.starts_with("w");
    loops = graph_loops(graph, is_weight);
    cuts.loops.assign(graph.node_bound(), AxisLoops{kNoLoop, kNoLoop, kNoLoop, kNoLoop});
    cuts.weights.assign(graph.tensor_bound(), Layout{});
    cuts.piece_of_node.assign(graph.node_bound(), 0);
  }

  TensorId tensor(const std::string& name) const {
    for (std::size_t k = 0; k < graph.tensor_bound(); ++k)
      if (graph.contains(TensorId(k)) && graph.tensor(TensorId(k)).name == name) return TensorId(k);
    throw std::runtime_error("no tensor is called " + name);
  }
  core::NodeId maker(const std::string& name) const { return graph.tensor(tensor(name)).producer; }

  /// Cuts a tensor along a dimension, or the sum that it is.
  void cut_dim(const std::string& name, std::size_t dim) {
    cut(name, [&](const ops::Loop& loop) {
      return loop.output_place(0) && loop.output_place(0)->dim == dim;
    });
  }
  void cut_sum(const std::string& name) {
    cut(name, [](const ops::Loop& loop) { return loop.joined[0] == ops::Joined::kSum; });
  }
  void lay_weight(const std::string& name, std::int8_t dim) {
    cuts.weights[tensor(name).index()].axes[0] = dim;
  }

  Programs programs() const {
    auto lowered = lower(graph, loops, is_weight, cuts);
    EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
    return *std::move(lowered);
  }
  std::optional<PlanDifference> difference(const Programs& programs) const {
    const auto checked = check_programs(graph, programs, 3);
    EXPECT_TRUE(checked.ok()) << checked.error().to_string();
    return *checked;
  }

 private:
  void cut(const std::string& name, const std::function<bool(const ops::Loop&)>& is_wanted) {
    const core::NodeId node = maker(name);
    const std::vector<ops::Loop>& all = loops.spaces[node.index()].loops;
    const auto found = std::ranges::find_if(all, is_wanted);
    ASSERT_NE(found, all.end()) << name;
    cuts.loops[node.index()][0] = static_cast<std::int8_t>(found - all.begin());
  }
};

template <class Step>
Step& first(RankProgram& program) {
  for (RankStep& step : program.steps)
    if (auto* found = std::get_if<Step>(&step)) return *found;
  throw std::runtime_error("the program has no such step");
}

/// The first sum of each rank is of its own summand alone.
Programs without_sum(Programs programs) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank)
    first<AllReduceStep>(programs[rank]).group = {static_cast<std::int64_t>(rank)};
  return programs;
}

/// The sum is taken behind the graph that reads it, of what that makes of each summand.
Programs with_later_sum(Programs programs) {
  for (RankProgram& program : programs) {
    const auto at = std::ranges::find_if(program.steps, [](const RankStep& step) {
      return std::holds_alternative<AllReduceStep>(step);
    });
    auto& sum = std::get<AllReduceStep>(*at);
    auto& reader = std::get<ComputeStep>(*(at + 1));
    std::ranges::replace(reader.inputs, sum.to, sum.from);
    sum.from = reader.outputs.front();
    sum.to = RankValueId(program.values.size());
    program.values.push_back(program.values[sum.from.index()]);
    for (HeldPiece& output : program.outputs)
      if (output.value == sum.from) output.value = sum.to;
    std::iter_swap(at, at + 1);
  }
  return programs;
}

void expect_refuted(const Halves& halves, const Programs& faulty) {
  const auto right = halves.difference(halves.programs());
  EXPECT_FALSE(right) << "rank " << right->rank;
  const auto wrong = halves.difference(faulty);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->tensor, halves.graph.outputs().front());
}

constexpr const char* kProduct = "graph product\n"
                                 "  x: f32[3, 4]\n"
                                 "  w: f32[4, 5]\n"
                                 "  c: f32[5]\n"
                                 "  s = matmul(x, w)\n";

TEST(ShippedFault, ASumIsMissingBehindARowParallelLayer) {
  Halves halves(std::string(kProduct) + "  y = relu(s)\n  return y\n");
  halves.cut_sum("s");
  halves.lay_weight("w", 0);
  expect_refuted(halves, without_sum(halves.programs()));
}

TEST(ShippedFault, SummandsAreAddedToANumber) {
  Halves halves(std::string(kProduct) + "  y = add(s, c)\n  return y\n");
  halves.cut_sum("s");
  expect_refuted(halves, with_later_sum(halves.programs()));
}

TEST(ShippedFault, ANormIsTakenOfSummands) {
  Halves halves(std::string(kProduct) + "  y = softmax(s; axis=1)\n  return y\n");
  halves.cut_sum("s");
  expect_refuted(halves, with_later_sum(halves.programs()));
}

TEST(ShippedFault, ABiasIsAddedOnEveryRank) {
  Halves halves("graph bias\n  x: f32[2, 4, 5, 5]\n  w: f32[3, 4, 3, 3]\n  wb: f32[3]\n"
                "  y = conv(x, w, wb)\n  return y\n");
  halves.cut_sum("y");
  Programs faulty = halves.programs();
  // The second rank does as the first does, on its own pieces.
  auto& own = first<ComputeStep>(faulty[1]);
  const auto& others = first<ComputeStep>(faulty[0]);
  const auto bias = std::ranges::find(faulty[0].inputs, halves.tensor("wb"), &HeldPiece::tensor);
  ASSERT_NE(bias, faulty[0].inputs.end());
  const auto place = std::ranges::find(others.inputs, bias->value) - others.inputs.begin();
  HeldPiece held = *bias;
  held.value = RankValueId(faulty[1].values.size());
  faulty[1].values.push_back(faulty[0].values[bias->value.index()]);
  std::erase_if(faulty[1].inputs,
                [&](const HeldPiece& input) { return input.tensor == held.tensor; });
  faulty[1].inputs.push_back(held);
  std::vector<RankValueId> inputs = own.inputs;
  inputs.resize(std::min(inputs.size(), others.inputs.size() - 1));
  inputs.insert(inputs.begin() + place, held.value);
  own.graph = others.graph;
  own.inputs = std::move(inputs);
  expect_refuted(halves, faulty);
}

TEST(ShippedFault, ShardsAreStrided) {
  Halves halves(std::string(kProduct) + "  y = relu(s)\n  return y\n");
  halves.cut_sum("s");
  halves.lay_weight("w", 0);
  Programs faulty = halves.programs();
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (HeldPiece& input : faulty[rank].inputs)
      if (input.tensor == halves.tensor("w"))
        input.piece.dims[0] = repeated(
            4, 1, 2, {static_cast<std::int64_t>(rank), static_cast<std::int64_t>(rank) + 1});
  expect_refuted(halves, faulty);
}

TEST(ShippedFault, ShardsOfUnlikeSizesLoseTheirRest) {
  Halves halves(std::string(kProduct) + "  y = relu(s)\n  return y\n");
  halves.cut_dim("s", 1);
  halves.cut_dim("y", 1);
  Programs faulty = halves.programs();
  HeldPiece& last = faulty[1].outputs.front();
  ASSERT_EQ(last.piece.dims[1], (IndexSet{{2, 5}}));
  last.piece.dims[1] = {{2, 4}};
  const auto wrong = halves.difference(faulty);
  ASSERT_TRUE(wrong);
  EXPECT_FALSE(halves.difference(halves.programs()));
}

TEST(ShippedFault, IndicesAreNotShiftedInAPartOfATable) {
  Halves halves(
      "graph table\n  w: f32[6, 3]\n  i: i64[4]\n  y = gather(w, i; axis=0)\n  return y\n");
  halves.cut_sum("y");
  halves.lay_weight("w", 0);
  Programs faulty = halves.programs();
  first<ComputeStep>(faulty[1]).graph = first<ComputeStep>(faulty[0]).graph;
  expect_refuted(halves, faulty);
}

TEST(ShippedFault, GradientsAreClippedByTheirOwnNorm) {
  Halves halves("graph clip\n  g: f32[4, 3]\n  q = mul(g, g)\n"
                "  n = reduce_sum(q; axes=[0, 1], keep_dims=0)\n  r = sqrt(n)\n"
                "  y = div(g, r)\n  return y\n");
  for (const char* const cut : {"q", "y"}) halves.cut_dim(cut, 0);
  halves.cut_sum("n");
  expect_refuted(halves, without_sum(halves.programs()));
}

TEST(ShippedFault, ALossIsDividedByTheTokensOfOneRank) {
  Halves halves("graph mean\n  x: f32[4, 3]\n"
                "  y = reduce_mean(x; axes=[0, 1], keep_dims=0)\n  return y\n");
  halves.cut_sum("y");
  Programs faulty = halves.programs();
  const core::Graph local = graph_of(
      "graph local\n  x: f32[2, 3]\n  y = reduce_mean(x; axes=[0, 1], keep_dims=0)\n  return y\n");
  for (RankProgram& program : faulty) first<ComputeStep>(program).graph = local;
  expect_refuted(halves, faulty);
}

/// A table that the first stage looks up and the second one multiplies with.
TEST(ShippedFault, AGradientOfATiedTableIsOfOneStageAlone) {
  Halves halves("graph tied\n  w: f32[5, 3]\n  i: i64[4]\n  t: f32[4, 5]\n"
                "  e = gather(w, i; axis=0)\n  wt = transpose(w; perm=[1, 0])\n"
                "  s = matmul(e, wt)\n  d = sub(s, t)\n  q = mul(d, d)\n"
                "  l = reduce_sum(q; axes=[0, 1], keep_dims=0)\n  return l\n",
                2);
  for (const char* const later : {"wt", "s", "d", "q", "l"})
    halves.cuts.piece_of_node[halves.maker(later).index()] = 1;
  TrainingOptions options{.weights = {halves.tensor("w")}};
  const auto step = training_step(halves.graph, options);
  ASSERT_TRUE(step.ok()) << step.error().to_string();
  const CutStep cut = cut_step(*step, {halves.graph, halves.loops, halves.is_weight}, halves.cuts,
                               StepCutOptions{});
  auto programs = lower(step->graph, cut.loops, cut.is_weight, cut.cuts);
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  const auto right = check_programs(step->graph, *programs, 3);
  ASSERT_TRUE(right.ok() && !*right);
  // The first stage takes its own gradient in place of what the second one sends.
  const TensorId updated = step->weights.front().updated;
  bool is_changed = false;
  for (RankStep& each : (*programs)[0].steps)
    if (auto* messages = std::get_if<MessageStep>(&each))
      for (const Message& message : messages->received) {
        const core::TensorType& type = (*programs)[0].values[message.value.index()];
        if (type != step->graph.tensor(updated).type) continue;
        for (RankStep& reader : (*programs)[0].steps)
          if (auto* compute = std::get_if<ComputeStep>(&reader))
            for (RankValueId& input : compute->inputs)
              if (input == message.value) {
                input = (*programs)[0].inputs.front().value;
                for (const HeldPiece& held : (*programs)[0].inputs)
                  if (held.tensor == halves.tensor("w")) input = held.value;
                is_changed = true;
              }
      }
  ASSERT_TRUE(is_changed);
  const auto wrong = check_programs(step->graph, *programs, 3);
  ASSERT_TRUE(wrong.ok()) << wrong.error().to_string();
  ASSERT_TRUE(*wrong);
  EXPECT_EQ((*wrong)->tensor, updated);
}

}  // namespace
}  // namespace soapstone::parallel
