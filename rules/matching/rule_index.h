// Finds the rules that may match at a node by properties that are cheap to look up: its operator,
// the rank of its result, its `perm`, `axis` or `axes`, and the operator of one neighbor.
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "rules/matching/pattern.h"
#include "rules/matching/symmetry.h"

namespace soapstone::rules {

/// A place to start from: a rule, and the node of its source that is to be the node at hand.
struct RuleSet::Index {
  struct Entry {
    std::uint32_t rule, node;
  };
  std::vector<Pattern> patterns;
  std::vector<std::vector<Symmetry>> symmetries;
  std::size_t slot_bound = 0, node_bound = 0, symbol_bound = 0, equation_bound = 0;

  void add(const Rule& rule, Pattern pattern);
  /// A rule that no search finds.
  void add_placed() {
    symmetries.emplace_back();
    patterns.emplace_back();
  }
  /// Calls `use(entry)` for all that may start at the node until it returns false; returns that.
  /// `anchors_only`: for each rule only the node of its source where a search is cheapest.
  template <class Use>
  bool for_each_start(const Graph& graph, NodeId id, bool anchors_only, Use use) const;

 private:
  using Table = std::unordered_map<std::uint64_t, std::vector<Entry>>;
  struct OfOperator {
    int key_attribute = -1;
    Table anchors, all;
    std::vector<Entry> every_anchor, every;  ///< The same in one list each.
  };
  /// A neighbor across an edge of the pattern; each entry is filed under one, if it has any.
  enum class Side : std::uint8_t { kNone, kProducer, kConsumer };

  static std::uint64_t key(std::size_t rank, std::uint64_t attribute, Side side,
                           const core::OpSchema* neighbor);
  static std::uint64_t neighbor_key(const Pattern& pattern, const NodePattern& node,
                                    std::uint64_t attribute);
  void add_start(std::uint32_t rule, std::uint32_t node);
  /// Different operators among the neighbors, so that no entry is met twice.
  struct Neighbors {
    static constexpr std::size_t kMost = 14;  ///< If there are more, all entries are tried.
    std::array<const core::OpSchema*, kMost> ops;
    std::array<Side, kMost> sides;
    std::size_t count = 0;
    bool overflow = false;
    void add(Side side, const core::OpSchema* op);
  };
  static void collect_neighbors(const Graph& graph, const core::Node& node, Neighbors& neighbors);

  std::unordered_map<const core::OpSchema*, OfOperator> by_op_;
};

template <class Use>
bool RuleSet::Index::for_each_start(const Graph& graph, NodeId id, bool anchors_only,
                                    Use use) const {
  const core::Node& node = graph.node(id);
  const auto of_op = by_op_.find(node.op);
  if (of_op == by_op_.end()) return true;
  const Table& table = anchors_only ? of_op->second.anchors : of_op->second.all;
  const auto use_all = [&](const std::vector<Entry>& entries) {
    return std::all_of(entries.begin(), entries.end(), use);
  };
  Neighbors neighbors;
  neighbors.add(Side::kNone, nullptr);
  collect_neighbors(graph, node, neighbors);
  if (neighbors.overflow)
    return use_all(anchors_only ? of_op->second.every_anchor : of_op->second.every);
  const std::size_t rank = graph.tensor(node.outputs[0]).type.shape.size();
  std::uint64_t attribute = 0;
  if (const int k = of_op->second.key_attribute; k >= 0)
    attribute = attribute_key(std::next(node.attributes.values().begin(), k)->second);
  for (std::size_t i = 0; i < neighbors.count; ++i)
    for (std::uint64_t a : {attribute, std::uint64_t{0}}) {
      const auto bucket = table.find(key(rank, a, neighbors.sides[i], neighbors.ops[i]));
      if (bucket != table.end() && !use_all(bucket->second)) return false;
      if (attribute == 0) break;
    }
  return true;
}

}  // namespace soapstone::rules
