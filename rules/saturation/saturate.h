// Equality saturation: rules are applied to an e-graph, all of them in turn, until nothing new
// follows or a limit is reached.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "rules/saturation/egraph.h"
#include "rules/saturation/ematch.h"

namespace soapstone::rules {

struct SaturationLimits {
  std::size_t nodes = 10'000;  ///< E-nodes.
  std::size_t rounds = 100;
  /// Matches of a rule as written that are replaced in the first round; the others wait for their
  /// turn. It doubles each round. So a rule that matches everywhere does not starve the others.
  std::size_t matches_a_round = 64;
  std::size_t waiting = 200'000;  ///< Matches; further ones are lost, and the end is a limit.
  EMatchLimits match = {};
  std::vector<bool> left_out = {};  ///< By family: rules that are not applied. May be shorter.
};

enum class SaturationEnd : std::uint8_t {
  kSaturated,  ///< No rule makes anything new.
  kDone,       ///< The e-graph has what the caller wanted.
  kNodes,
  kRounds,  ///< Or nothing is left but matches that a limit has kept from being found.
  kStopped,
};
std::string_view to_string(SaturationEnd end);

struct SaturationReport {
  SaturationEnd end = SaturationEnd::kSaturated;
  std::size_t rounds = 0;
  std::uint64_t matches = 0;  ///< Different ones.
  std::uint64_t applied = 0;  ///< Replaced.
  /// Applications that brought something new, by rule.
  std::map<std::uint32_t, std::uint64_t> by_rule;
  std::size_t nodes = 0, classes = 0;
  std::size_t size_bytes = 0;
};

/// A match that was replaced and brought something new, with the e-graph's ids of that moment.
struct Application {
  std::uint32_t rule = 0;
  std::vector<std::int64_t> sizes;  ///< By symbol.
  std::vector<ClassId> inputs;
  std::vector<ENodeId> matched;  ///< The e-nodes that are the source.
  /// Classes of the target's constants, and then of its nodes' results, in the order of
  /// PreparedRule.
  std::vector<ClassId> made;
  /// The first class and e-node that came with it, if any did.
  std::size_t first_class = 0, first_node = 0;
};

/// Asked after each round; true ends the saturation.
using SaturationGoal = std::function<bool(const EGraph&)>;
/// Whether the rule may be used at these sizes, with its f32 inputs of that type; asked once for
/// each rule, sizes and types. An admitted use makes both sides one class, so each may stand for
/// the other.
using SaturationFilter = std::function<bool(std::uint32_t rule, std::span<const std::int64_t> sizes,
                                            core::DataType float_type)>;

/// New e-nodes have the number of the rule as their maker. A match of which the target has no
/// types, or other ones than what it replaces, is left out. Deterministic. `log`: all that was
/// replaced, in order.
SaturationReport saturate(EGraph& graph, const SaturationRules& rules,
                          const SaturationLimits& limits, const SaturationGoal& goal,
                          const core::StopToken& stop, const SaturationFilter& admits = {},
                          std::vector<Application>* log = nullptr);

}  // namespace soapstone::rules
