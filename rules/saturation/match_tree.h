// The sources of many rules as one tree of walks: where sources begin alike, an e-graph is searched
// once for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules/matching/pattern.h"
#include "rules/saturation/egraph.h"

namespace soapstone::rules {

/// Operators that make operands of an e-node and that read its results, as bits like those of
/// EClass.
struct Neighbors {
  std::uint64_t makers = 0, readers = 0;
  bool contain(const Neighbors& wanted) const {
    return (wanted.makers & ~makers) == 0 && (wanted.readers & ~readers) == 0;
  }
};

/// A node of a source and how a walk comes to it. Slots, symbols and equations are numbered in the
/// order in which a walk meets them: sources that begin alike have equal steps.
struct MatchStep {
  std::int32_t via = -1;  ///< A slot of an earlier step; −1: the walk begins here.
  bool to_producer = false;
  NodePattern node;
  std::size_t first_slot = 0;      ///< The slots that are met first here have numbers from this on.
  std::vector<SlotPattern> slots;  ///< Those.
  std::size_t results = 0;         ///< Of the whole source; 3: or more.
};

/// Copies share steps and leaves.
class MatchTree {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The end of a walk through a whole source, with the rule's own numbers by those of the walk.
  struct Leaf {
    std::uint32_t rule = 0;
    std::uint32_t start = 0;  ///< The node of the source that the walk begins at.
    std::vector<std::uint32_t> slots, symbols;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> equations;  ///< The rule's; the walk's.
  };
  struct Node {
    std::shared_ptr<const MatchStep> step;
    Neighbors neighbors;  ///< Nothing behind this node goes on from an e-node without them.
    std::uint32_t first_child = kNone, next_sibling = kNone;
    std::uint32_t first_leaf = kNone;
    std::uint32_t parts = 0;  ///< How many children and leaves.
  };

  /// `neighbors`: by node of the pattern.
  void add(std::uint32_t rule, const Pattern& pattern, std::span<const Neighbors> neighbors);

  const Node& operator[](std::uint32_t k) const { return nodes_[k]; }
  std::size_t size() const { return nodes_.size(); }
  std::size_t leaf_count() const { return leaves_.size(); }
  /// Calls `use(child)` with the number of each.
  template <class Use>
  void for_each_child(const Node& node, Use use) const;
  /// Calls `use(leaf, number)`; leaves of earlier rules have lower numbers.
  template <class Use>
  void for_each_leaf(const Node& node, Use use) const;
  /// Calls `use(node, n)` where walks may begin at an e-node with this operator, attributes and
  /// rank of its first result; n grows.
  template <class Use>
  void for_each_root(const Operation& operation, std::size_t rank, Use use) const;

  /// Numbers that a walk may use.
  struct Bounds {
    std::size_t steps = 0, slots = 0, symbols = 0;
  };
  const Bounds& bounds() const { return bounds_; }
  /// A pattern that has nothing but the equations of all walks.
  const Pattern& equations() const { return equations_; }

 private:
  class Walk;
  static constexpr std::size_t kAnyRank = 63;
  static std::uint64_t key(const core::OpSchema* op, std::size_t rank, std::uint64_t attribute);
  static std::uint64_t operation_key(const Operation& operation);
  /// The step that is equal and known; this one, if there is none.
  std::shared_ptr<const MatchStep> shared(MatchStep step);
  /// Of these siblings the one with this step, which is added if there is none.
  std::uint32_t find_or_add(std::uint32_t first, std::shared_ptr<const MatchStep> step,
                            const Neighbors& neighbors);
  /// The number of the n-th equation of a walk with this polynomial.
  std::uint32_t number_of(const core::Polynomial& polynomial, std::size_t n);

  Bounds bounds_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::shared_ptr<const Leaf>, std::uint32_t>> leaves_;       // and the next
  std::unordered_map<std::uint64_t, std::uint32_t> roots_;                          // the first
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const MatchStep>> steps_;  // by hash
  Pattern equations_;
  std::map<std::pair<core::Polynomial, std::size_t>, std::uint32_t> equation_numbers_;
};

template <class Use>
void MatchTree::for_each_child(const Node& node, Use use) const {
  for (std::uint32_t k = node.first_child; k != kNone; k = nodes_[k].next_sibling) use(k);
}

template <class Use>
void MatchTree::for_each_leaf(const Node& node, Use use) const {
  for (std::uint32_t k = node.first_leaf; k != kNone; k = leaves_[k].second)
    use(*leaves_[k].first, k);
}

template <class Use>
void MatchTree::for_each_root(const Operation& operation, std::size_t rank, Use use) const {
  const std::uint64_t attribute = operation_key(operation);
  std::uint32_t n = 0;
  for (const std::size_t r : {rank, kAnyRank})
    for (const std::uint64_t a : {attribute, std::uint64_t{0}}) {
      const auto at = roots_.find(key(operation.op, r, a));
      if (at != roots_.end())
        for (std::uint32_t root = at->second; root != kNone; root = nodes_[root].next_sibling)
          use(root, n);
      ++n;
      if (a == 0) break;
    }
}

}  // namespace soapstone::rules
