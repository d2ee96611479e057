// The sources of many rules as one tree, each as the walk that finds it from one of its nodes. What
// two walks have in common from their start on is one path, so it is tried once for all rules.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/matching/pattern.h"
#include "rules/saturation/egraph.h"

namespace soapstone::rules {

class MatchTree {
 public:
  /// What is asked of a tensor that a walk meets for the first time. Symbols stand for any size.
  struct Slot {
    SlotPattern::Kind kind = SlotPattern::Kind::kInner;
    core::DataType data_type = core::DataType::kFloat32;
    bool constant = false;
    std::vector<SizePattern> dims;
    core::LiteralPtr literal;
    bool operator==(const Slot& other) const;
  };
  /// What is asked of an e-node. Tensors are numbered in the order in which the walk meets them:
  /// first the results of an e-node, then its operands.
  struct Test {
    const core::OpSchema* op = nullptr;
    std::vector<std::int32_t> outputs, inputs;  ///< −1: left out.
    std::vector<Slot> slots;                    ///< Of those that are met here.
    std::vector<AttributePattern> attributes;   ///< Integers with symbols as any number.
    bool operator==(const Test&) const = default;
  };
  /// A rule whose whole source a walk has met. What symbols stand for is still to be found.
  struct Leaf {
    std::uint32_t rule = 0, start = 0;  ///< `start`: the node of the source where it began.
    std::vector<std::int32_t> slots;    ///< The rule's numbers of the tensors, as they were met.
  };
  /// E-nodes next to a tensor, and what they are tried for.
  struct Branch {
    std::int32_t via = -1;
    bool to_producer = false;
    std::uint64_t ops = 0;                ///< op_bit() of all tests.
    std::vector<std::uint32_t> children;  ///< Vertices.
  };
  struct Vertex {
    Test test;
    std::uint32_t parent = 0;
    std::uint32_t newest = 0;  ///< The last rule that was added here or below.
    std::vector<std::uint32_t> leaves;
    std::vector<Branch> branches;
  };

  MatchTree() : vertices_(1) {}
  /// Adds the walk from node number `start` of the pattern.
  void add(const Pattern& pattern, std::uint32_t rule, std::uint32_t start);

  /// Number 0 is the root, which has no test and one branch.
  const Vertex& operator[](std::uint32_t vertex) const { return vertices_[vertex]; }
  const Leaf& leaf(std::uint32_t number) const { return leaves_[number]; }
  std::size_t size() const { return vertices_.size(); }
  /// Leaves are numbered as they were added.
  std::size_t leaf_count() const { return leaves_.size(); }

 private:
  std::uint32_t child(std::uint32_t vertex, std::int32_t via, bool to_producer, Test test);

  std::vector<Vertex> vertices_;
  std::vector<Leaf> leaves_;
};

}  // namespace soapstone::rules
