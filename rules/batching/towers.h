// Towers: parts of a graph that do the same to different tensors, side by side, up to where they
// are joined or added, or part. Bottom-up, as superword-level parallelism packs instructions
// (Larsen and Amarasinghe 2000).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

/// How many towers may stand side by side.
inline constexpr std::size_t kMostTowers = 64;

/// How the names of their rules begin: `batch_of_matmul`.
inline constexpr std::string_view kBatchingPrefix = "batch_of_";

/// One rewrite on the way to a batch: what siblings compute is computed for all of them at once,
/// and taken apart again.
struct TowerStep {
  std::vector<core::TensorId> results;  ///< Of the siblings, or the one that a batch ends in.
  /// If set: the only result is this operand of the node that now computes the result of the last
  /// step without one.
  std::optional<std::size_t> operand = {};
  bool ends =
      false;  ///< What was a batch is joined or summed, which may cost more than to leave it.
  std::string name;        ///< That of the rule that says so, and of no other one.
  std::string text;        ///< The rule, if possible for all sizes.
  std::string exact_text;  ///< For those of the graph.
  FloatBehavior floats = FloatBehavior::kExact;
};

/// The steps of one pack of towers, in the order in which they are taken: each finds the graph as
/// the one before leaves it. Ids of nodes that are not packed stay.
struct Towers {
  std::vector<TowerStep> steps;
};

/// Those that end in a join or a sum, the last ones of the graph first, and then those that end
/// apart. A node may stand in several packs. Complexity: nodes of all packs times nodes of the
/// graph.
std::vector<Towers> find_towers(const core::Graph& graph);

/// The rules of all steps. They are stated, not believed: Rule::is_proved_on_demand.
std::vector<Rule> batching_rules(const core::Graph& graph);

}  // namespace soapstone::rules
