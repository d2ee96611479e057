// Finding sources of rules in an e-graph: as in a graph, but a tensor is made by any e-node of its
// class. Sources with several results are found too, if their parts share a tensor.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "rules/matching/pattern.h"
#include "rules/matching/symmetry.h"
#include "rules/rule/rule.h"
#include "rules/saturation/egraph.h"
#include "rules/saturation/match_tree.h"

namespace soapstone::rules {

/// A rule with what matching and applying it in an e-graph take.
struct PreparedRule {
  Rule rule;
  Pattern pattern;
  std::vector<Neighbors> neighbors;  ///< By node of the source: those that it must have.
  std::vector<Symmetry> symmetries;  ///< If they were asked for.
  /// The target as slots: inputs, then its constants, then results of its nodes.
  struct TargetNode {
    const core::Node* node = nullptr;
    std::vector<std::int32_t> operands;  ///< −1: left out.
  };
  std::vector<core::LiteralPtr> constants;
  std::vector<TargetNode> target;
  std::vector<std::int32_t> results;
  std::uint32_t family = 0;  ///< The same for all instances of a rule as written.
};

/// Rules to saturate with. Copies share what was prepared, so a set is extended cheaply.
class SaturationRules {
 public:
  SaturationRules() = default;
  /// All that can be matched. `once`: of matches that differ only by a symmetry of the rule there
  /// is one, as in graphs; what they make may differ in the order of concatenations.
  explicit SaturationRules(std::span<const Rule> rules, bool once = false);

  /// Errors: kInvalidInput: a source in parts that share no tensor.
  core::Status add(const Rule& rule);

  std::size_t size() const { return rules_.size(); }
  const PreparedRule& operator[](std::size_t k) const { return *rules_[k]; }
  std::size_t family_count() const { return families_.size(); }

  const MatchTree& tree() const { return tree_; }

  /// Sizes of the largest pattern.
  struct Bounds {
    std::size_t slots = 0, nodes = 0, symbols = 0, equations = 0;
  };
  const Bounds& bounds() const { return bounds_; }

 private:
  bool once_ = false;
  Bounds bounds_;
  std::vector<std::shared_ptr<const PreparedRule>> rules_;
  std::unordered_map<std::string, std::uint32_t> families_;
  MatchTree tree_;
};

/// A match of a rule's source; valid during the call.
struct EMatch {
  std::uint32_t rule = 0;
  std::span<const ClassId> inputs, outputs;
  std::span<const ENodeId> nodes;
  std::span<const std::int64_t> sizes;  ///< By symbol.
  core::DataType float_type;            ///< The same as in Match.
};
using EMatchFound = std::function<bool(const EMatch&)>;  ///< False ends the search.

/// For each rule and each e-node where its source may start. Sources with many results that share
/// an operand have as many matches as there are tuples of its readers.
struct EMatchLimits {
  std::size_t matches = 128;
  std::size_t steps = 4096;  ///< E-nodes that are tried for what they begin with.
  /// What was not found from an e-node because of a limit belongs to the next one; so some matches
  /// may be found twice.
  bool hands_on = false;
};

/// Calls `found` for every match that includes one of these e-nodes, which ascend, each once unless
/// they are handed on, in an order that depends on the e-graph and the rules alone. Sizes bind
/// consistently and guards hold. E-nodes that make several results of a source are different ones,
/// unless they were given and there are two: a product merged with itself, and that again, would
/// never end. False: a limit was met. Precondition: rebuilt.
bool for_each_match(const EGraph& graph, const SaturationRules& rules,
                    std::span<const ENodeId> nodes, const EMatchLimits& limits,
                    const EMatchFound& found);

}  // namespace soapstone::rules
