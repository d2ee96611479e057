// Two changes of form that make trees run fast and change nothing else: selecting sums become
// lookups, and loops that advance as one become one.
#include <algorithm>
#include <optional>

#include "ops/evaluation/evaluate_tree.h"

namespace soapstone::ops::evaluation {
namespace {

/// equal(key, v + c) where v is a variable of the sum and the key does not depend on it.
struct Selection {
  std::size_t range;
  TreeNode key;
  std::int64_t offset;
};

std::optional<Selection> selection(const TreeNode& node, const std::vector<Range>& ranges) {
  if (node.kind != NodeKind::kApply || node.function != Function::kEqual) return std::nullopt;
  for (std::size_t side : {0u, 1u}) {
    const TreeNode& index = node.children[side];
    const TreeNode& key = node.children[1 - side];
    if (index.kind != NodeKind::kIndexValue || index.position.coefficients.size() != 1) continue;
    const auto& [variable, c] = *index.position.coefficients.begin();
    for (std::size_t k = 0; k < ranges.size(); ++k)
      if (c == 1 && ranges[k].variable == variable && !mentions(key, variable))
        return Selection{k, key, index.position.constant};
  }
  return std::nullopt;
}

bool is_zero(const TreeNode& node) {
  return node.kind == NodeKind::kNumber && node.number == Rational{0, 1};
}

/// Takes a selection out of a summand: a factor of it, or the condition of a select whose other
/// branch is 0. What is left of the summand stays in `body`.
std::optional<Selection> take_selection(TreeNode& body, const std::vector<Range>& ranges) {
  if (body.kind == NodeKind::kApply && body.function == Function::kSelect &&
      is_zero(body.children[2])) {
    auto found = selection(body.children[0], ranges);
    if (!found) return std::nullopt;
    TreeNode chosen = std::move(body.children[1]);
    body = std::move(chosen);
    return found;
  }
  if (body.kind != NodeKind::kMul) return std::nullopt;
  for (std::size_t k = 0; k < body.children.size(); ++k) {
    auto found = selection(body.children[k], ranges);
    if (!found) continue;
    body.children.erase(body.children.begin() + static_cast<std::ptrdiff_t>(k));
    if (body.children.size() == 1) {
      TreeNode only = std::move(body.children[0]);
      body = std::move(only);
    }
    return found;
  }
  return std::nullopt;
}

TreeNode with_domain(TreeNode body, Domain domain) {
  if (domain.ranges.empty() && domain.constraints.empty()) return body;
  TreeNode node;
  node.kind = domain.ranges.empty() ? NodeKind::kGuard : NodeKind::kSum;
  node.children.push_back(std::move(body));
  node.domains.push_back(std::move(domain));
  return node;
}

/// Whether `outer` and `inner`, which takes `extent` values from 0, always advance as one variable.
bool advance_as_one(const TreeNode& body, const Domain* domain, std::uint32_t outer,
                    std::uint32_t inner, std::int64_t extent) {
  bool as_one = true;
  const auto look = [&](const Affine& a) {
    as_one &= a.coefficient(outer) == a.coefficient(inner) * extent;
  };
  for_each_form(body, look);
  if (domain)
    for (const auto& c : domain->constraints) look(c.expression);
  return as_one;
}

/// Merges adjacent ranges from the last on. `position` is one more form, or null.
void merge(std::vector<Range>& ranges, TreeNode& body, Domain* domain, Affine* position) {
  for (std::size_t k = ranges.size(); k-- > 1;) {
    Range& outer = ranges[k - 1];
    const Range inner = ranges[k];
    if (outer.low != 0 || inner.low != 0 || inner.high <= 0 || outer.high <= 0) continue;
    if (!advance_as_one(body, domain, outer.variable, inner.variable, inner.high)) continue;
    const auto drop = [&](Affine& a) { a.coefficients.erase(outer.variable); };
    for_each_form(body, drop);
    if (domain)
      for (auto& c : domain->constraints) drop(c.expression);
    if (position) drop(*position);
    outer = {inner.variable, 0, outer.high * inner.high};
    ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

void merge_binders(TreeNode& node) {
  if (node.kind == NodeKind::kSum || node.kind == NodeKind::kMax)
    for (std::size_t k = 0; k < node.children.size(); ++k)
      merge(node.domains[k].ranges, node.children[k], &node.domains[k], nullptr);
  for (TreeNode& child : node.children) merge_binders(child);
}

}  // namespace

bool recognize_lookup(TreeNode& sum) {
  Domain& all = sum.domains[0];
  auto found = take_selection(sum.children[0], all.ranges);
  if (!found) return false;
  const Range v = all.ranges[found->range];
  Domain inside, outside;  // of the lookup's body, and around the lookup
  for (auto& c : all.constraints)
    (c.expression.coefficient(v.variable) != 0 ? inside : outside)
        .constraints.push_back(std::move(c));
  for (const Range& r : all.ranges)
    if (r.variable != v.variable) outside.ranges.push_back(r);

  TreeNode lookup;
  lookup.kind = NodeKind::kLookup;
  lookup.position.constant = found->offset;
  lookup.children.push_back(with_domain(std::move(sum.children[0]), std::move(inside)));
  lookup.children.push_back(std::move(found->key));
  lookup.domains.push_back({{v}, {}});
  sum = with_domain(std::move(lookup), std::move(outside));
  return true;
}

void merge_loops(StageTree& stage) {
  merge(stage.index, stage.body, nullptr, &stage.position);
  merge_binders(stage.body);
}

}  // namespace soapstone::ops::evaluation
