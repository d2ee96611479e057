// One gradient after the other. A match is taken only if all its nodes belong to the backward pass.
#include "parallel/training/ordinary_gradients.h"

#include <algorithm>
#include <map>
#include <optional>

#include "parallel/training/phases.h"
#include "rules/matching/rewrite.h"

namespace soapstone::parallel {
namespace {

using core::NodeId;
using core::TensorId;

struct Found {
  core::RuleId rule;
  rules::Match match;
};

class Rewriting {
 public:
  Rewriting(TrainingStep step, const rules::RuleSet& rules, const StaysNode& stays)
      : step_(std::move(step)), rules_(rules), stays_(stays),
        shared_(std::ranges::count(step_.phases, Phase::kRecompute) != 0 ? Phase::kRecompute
                                                                         : Phase::kForward) {}

  core::Result<TrainingStep> run() {
    const std::vector<NodeId> order(step_.graph.order().begin(), step_.graph.order().end());
    for (const NodeId id : order) {
      if (!step_.graph.contains(id) || step_.phases[id.index()] != Phase::kBackward) continue;
      if (stays_ && stays_(step_.graph, id)) continue;
      if (const auto found = match_at(id)) SOAPSTONE_RETURN_IF_ERROR(replace(*found));
    }
    step_.kept = kept_results(step_.graph, step_.phases);
    return std::move(step_);
  }

 private:
  std::optional<Found> match_at(NodeId id) const {
    std::optional<Found> found;
    rules_.for_each_match_at(
        step_.graph, std::span(&id, 1), [&](core::RuleId rule, const rules::Match& match) {
          const bool is_backward = std::ranges::all_of(match.nodes, [&](NodeId node) {
            return step_.phases[node.index()] == Phase::kBackward;
          });
          if (is_backward) found = Found{rule, match};
          return !found;
        });
    return found;
  }

  core::Status replace(const Found& found) {
    const std::size_t first_new = step_.graph.node_bound();
    const NodeId origin = step_.origins[found.match.nodes.front().index()];
    auto attempt = rules::apply_and_follow(step_.graph, rules_[found.rule], found.match);
    if (!attempt) return core::Done{};  // Its target has no results of these types.
    rules::Applied applied = *std::move(attempt);
    for (std::size_t k = 0; k < applied.results.size(); ++k)
      rename(found.match.outputs[k], applied.results[k]);
    step_.graph = std::move(applied.graph);
    step_.phases.resize(step_.graph.node_bound(), Phase::kBackward);
    step_.origins.resize(step_.graph.node_bound(), origin);
    return share_results(first_new);
  }

  void rename(TensorId from, TensorId to) {
    for (TrainedWeight& weight : step_.weights)
      if (weight.gradient == from) weight.gradient = to;
  }

  /// New nodes that compute what a node of the shared phase does give way to it.
  core::Status share_results(std::size_t first_new) {
    core::GraphBuilder builder(step_.graph);
    bool is_changed = false;
    for (const NodeId id : step_.graph.order()) {
      if (id.index() < first_new) continue;
      const core::Node& node = builder.node(id);
      const auto twin = twin_of(node);
      if (!twin) continue;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        builder.replace_uses(node.outputs[k], step_.graph.node(*twin).outputs[k]);
      is_changed = true;
    }
    if (!is_changed) return core::Done{};
    SOAPSTONE_ASSIGN_OR_RETURN(step_.graph, std::move(builder).finish());
    return core::Done{};
  }

  std::optional<NodeId> twin_of(const core::Node& node) const {
    for (const TensorId input : node.inputs) {
      if (!input.valid()) continue;
      for (const NodeId reader : step_.graph.consumers(input)) {
        const core::Node& other = step_.graph.node(reader);
        if (step_.phases[reader.index()] == shared_ && other.op == node.op &&
            other.inputs == node.inputs && other.attributes == node.attributes)
          return reader;
      }
      return std::nullopt;  // A twin reads the same first input.
    }
    return std::nullopt;
  }

  TrainingStep step_;
  const rules::RuleSet& rules_;
  const StaysNode& stays_;
  /// The phase whose results are used again: the forward pass, unless it does not keep them.
  Phase shared_;
};

}  // namespace

core::Result<TrainingStep> with_ordinary_gradients(TrainingStep step, const rules::RuleSet& rules,
                                                   const StaysNode& stays) {
  return Rewriting(std::move(step), rules, stays).run();
}

}  // namespace soapstone::parallel
