// A stage of a comprehension for concrete sizes, with every index expression affine in numbered
// variables. Between Semantics and the program that runs; knows none of the scalars.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/tensor_type.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops::evaluation {

/// constant + Σ coefficient · variable.
struct Affine {
  std::int64_t constant = 0;
  std::map<std::uint32_t, std::int64_t> coefficients;  ///< None is zero.

  std::int64_t coefficient(std::uint32_t variable) const;
  void add(const Affine& other, std::int64_t times);
  bool operator==(const Affine&) const = default;
};

struct AffineConstraint {
  Constraint::Kind kind;
  Affine expression;
};

/// low ≤ variable < high, both numbers; bounds that depend on other variables became constraints.
struct Range {
  std::uint32_t variable;
  std::int64_t low, high;
};

enum class NodeKind : std::uint8_t {
  kNumber,
  kIndexValue,
  kRead,
  kAdd,
  kMul,
  kInverse,
  kApply,
  kGuard,
  kSum,
  kMax,
  kLookup,  ///< Σ over v of [key = v] · body(v): body at the v that the key says, else 0
};

/// Binders and constraints of one child.
struct Domain {
  std::vector<Range> ranges;
  std::vector<AffineConstraint> constraints;
};

struct TreeNode {
  NodeKind kind = NodeKind::kNumber;
  Rational number;
  std::uint32_t tensor = 0;
  Affine position;  ///< Flat position of a read; value of an index; offset of a lookup key.
  Function function = Function::kRelu;
  std::vector<TreeNode> children;  ///< A lookup: body, key.
  std::vector<Domain> domains;  ///< One per child of kGuard, kSum, kMax; a lookup's body has one.
};

struct StageTree {
  std::vector<Range> index;  ///< Outermost first; sizes of 1 are gone.
  Affine position;           ///< The flat position of the element that is written.
  TreeNode body;
};

/// `dims` are those of all tensors that come before the stage, then its own.
/// A read that no guard protects is checked to be in bounds.
StageTree make_tree(const Stage& stage, std::span<const core::Dims> dims);

/// Calls visit(Affine&) for every affine form in the tree below.
template <class Node, class Visit>
void for_each_form(Node& node, const Visit& visit) {
  visit(node.position);
  for (auto& domain : node.domains)
    for (auto& constraint : domain.constraints) visit(constraint.expression);
  for (auto& child : node.children) for_each_form(child, visit);
}
bool mentions(const TreeNode& node, std::uint32_t variable);

/// Turns Σᵥ equal(key, v) · f(v) into a lookup, so that a gather costs its output and not its
/// vocabulary. `sum` has one child. Returns whether it did.
bool recognize_lookup(TreeNode& sum);

/// Replaces pairs of adjacent index variables and of adjacent binders by one, where all forms
/// advance by them as by one: an elementwise stage becomes one long loop.
void merge_loops(StageTree& stage);

}  // namespace soapstone::ops::evaluation
