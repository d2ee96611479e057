// Random graphs with random plans, as programs of ranks.
#pragma once

#include <string>
#include <vector>

#include "parallel/lowering/lowering.h"
#include "parallel/lowering/step_cuts.h"
#include "parallel/training/training_step.h"
#include "tests/parallel/random_cuts.h"
#include "tests/runtime/random_graph_text.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel {

inline void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// A random graph on four images; what has one letter for a name is a weight.
inline PlannedNetwork random_network(unsigned seed) {
  constexpr std::size_t kNodes = 8;
  std::string text = runtime::test::RandomGraphText(seed).make(kNodes);
  for (const char* const rest : {"4, 5, 5]", "100]"})
    replace_all(text, std::string("[1, ") + rest, std::string("[4, ") + rest);
  // Something has to depend on a weight.
  const std::size_t last = text.find("  return ");
  const std::string name = text.substr(last + 9, text.find(',', last) - last - 9);
  text.insert(last, "  z = conv(" + name + ", p)\n");
  text.insert(text.size() - 1, ", z");
  PlannedNetwork network{graph_of(text), {}, 0};
  network.is_weight.resize(network.graph.tensor_bound(), false);
  for (const core::TensorId id : network.graph.inputs())
    network.is_weight[id.index()] = network.graph.tensor(id).name.size() == 1;
  return network;
}

enum class Purpose : std::uint8_t { kInference, kTraining };

struct RandomRun {
  core::Graph graph;
  std::vector<RankProgram> programs;
};

/// In one or two microbatches. Errors: kUnsupported if the plan cannot be run.
inline core::Result<RandomRun> random_run(const PlannedNetwork& net, RandomCuts& random,
                                          const PlannedCuts& cuts, Purpose purpose) {
  const CutGraph model{net.graph, random.loops(), net.is_weight};
  const auto microbatches = static_cast<std::int64_t>(1 + random.below(2));
  if (purpose == Purpose::kInference) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto programs, lower(net.graph, random.loops(), net.is_weight,
                                                    with_microbatches(model, cuts, microbatches)));
    return RandomRun{net.graph, std::move(programs)};
  }
  TrainingOptions options{.loss = Loss::kSquared, .optimizer = Optimizer::kMomentum};
  for (const core::TensorId id : net.graph.inputs())
    if (net.is_weight[id.index()]) options.weights.push_back(id);
  SOAPSTONE_ASSIGN_OR_RETURN(const TrainingStep step, training_step(net.graph, options));
  const CutStep cut = cut_step(step, model, cuts, {microbatches, random.below(2) == 0});
  SOAPSTONE_ASSIGN_OR_RETURN(auto programs, lower(step.graph, cut.loops, cut.is_weight, cut.cuts));
  return RandomRun{step.graph, std::move(programs)};
}

}  // namespace soapstone::parallel
