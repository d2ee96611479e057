// The classes of an e-graph that every graph of a class has. So e-nodes are known that only circles
// need: parts of a concatenation that are made of its own split, say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rules/saturation/egraph.h"

namespace soapstone::search {

class Necessity {
 public:
  /// Complexity: classes times e-nodes, times the rounds until nothing changes, which are few.
  explicit Necessity(const rules::EGraph& graph);

  /// Whether each graph of the class `by` has one of the class `id`. Ids are those of find().
  /// Classes that no graph makes need all.
  bool is_needed(rules::ClassId by, rules::ClassId id) const {
    const std::uint64_t word = bits_[by.index() * words_ + id.index() / kBits];
    return (word >> (id.index() % kBits) & 1) != 0;
  }
  /// Whether an operand needs the class that the e-node makes, so that no graph has it there.
  bool is_circular(rules::ENodeId node, rules::ClassId id) const;

 private:
  static constexpr std::size_t kBits = 64;

  std::span<std::uint64_t> needed(std::size_t by) {
    return std::span(bits_).subspan(by * words_, words_);
  }
  bool narrow(rules::ClassId id);

  const rules::EGraph& graph_;
  std::size_t words_;                ///< Of a set of classes.
  std::vector<std::uint64_t> bits_;  ///< A set for each class.
};

}  // namespace soapstone::search
