// Plans drawn at random.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "parallel/lowering/planned_cuts.h"
#include "parallel/work/origins.h"
#include "parallel/work/step_work.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {

/// How many plans a test draws for each network: SOAPSTONE_RANDOM_PLANS asks for more.
inline int random_plans(int usual) {
  const char* wanted = std::getenv("SOAPSTONE_RANDOM_PLANS");
  return wanted ? std::atoi(wanted) : usual;
}

/// Cuts that no search would take: any loop of any node along any axis, weights cut as one of their
/// readers wants them or whole, in any number of stages.
class RandomCuts {
 public:
  /// The network must outlive this.
  RandomCuts(const PlannedNetwork& net, std::uint64_t seed)
      : net_(net), loops_(graph_loops(net.graph, net.is_weight)), random_(seed) {}

  const GraphLoops& loops() const { return loops_; }

  /// `chunks`: pieces of each stage, if there are several stages.
  PlannedCuts draw(std::int64_t chunks = 1) {
    const std::vector<std::vector<std::int64_t>> meshes = {{2, 1, 1}, {2, 2, 1}, {3, 1, 1},
                                                           {2, 1, 3}, {2, 2, 2}, {4, 1, 1}};
    const std::vector<std::int64_t>& sizes = meshes[below(meshes.size())];
    const auto stages = static_cast<std::int64_t>(1 + below(3));
    std::optional<UnevenAxis> uneven;
    if (sizes[2] == 2 && below(2) == 0) uneven = UnevenAxis{2, {1, 3}, {0, 0}};
    PlannedCuts cuts{RankMesh(stages, sizes, uneven)};
    if (stages > 1) cuts.chunks = chunks;
    cuts.loops.assign(net_.graph.node_bound(), AxisLoops{kNoLoop, kNoLoop, kNoLoop, kNoLoop});
    cuts.weights.assign(net_.graph.tensor_bound(), Layout{});
    cuts.piece_of_node.assign(net_.graph.node_bound(), 0);
    const Mesh mesh(
        sizes, [](Collective, std::size_t, double) { return 0.0; }, uneven);
    const StepWork work = step_work(net_.graph, net_.is_weight, {});
    ChoiceOptions options;
    options.policies.assign(3, AxisPolicy::kAny);
    const ComputeRates rates;
    options.rates_of_kinds = {rates};
    std::size_t at = 0;
    for (const core::NodeId id : net_.graph.order()) {
      cuts.piece_of_node[id.index()] = static_cast<std::int32_t>(
          at++ * static_cast<std::size_t>(stages * cuts.chunks) / net_.graph.order().size());
      if (net_.graph.is_constant_expression(id)) continue;
      std::vector<NodeChoice> choices =
          node_choices(net_.graph, id, loops_, work, mesh, rates, options).all;
      std::erase_if(choices, [&](const NodeChoice& choice) { return has_no_parts(id, choice); });
      const NodeChoice& choice = choices[below(choices.size())];
      cuts.loops[id.index()] = choice.loops;
      const core::Node& node = net_.graph.node(id);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k].valid() && below(2) == 0)
          cuts.weights[node.inputs[k].index()] = choice.inputs[k];
    }
    return cuts;
  }

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

 private:
  /// Parts of a softmax along its axis are several graphs, and a mean over some of a window is
  /// none.
  bool has_no_parts(core::NodeId id, const NodeChoice& choice) const {
    const std::vector<ops::Loop>& loops = loops_.spaces[id.index()].loops;
    const bool is_mean = net_.graph.node(id).op->name == "average_pool";
    return std::ranges::any_of(choice.loops, [&](std::int8_t number) {
      if (number < 0) return false;
      const ops::Loop& loop = loops[static_cast<std::size_t>(number)];
      return !loop.between.empty() || (is_mean && loop.role == ops::DimRole::kReduction);
    });
  }

  const PlannedNetwork& net_;
  const GraphLoops loops_;
  std::mt19937_64 random_;
};

}  // namespace soapstone::parallel
