// From expressions in symbols to trees in numbers. On the way: sums of sums become one sum, guards
// of a summand become constraints of the sum, and constraints that always hold disappear.
#include "ops/evaluation/evaluate_tree.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"

namespace soapstone::ops::evaluation {
namespace {

class TreeBuilder {
 public:
  explicit TreeBuilder(std::span<const core::Dims> dims) : dims_(dims) {}

  StageTree build(const Stage& stage) {
    StageTree tree;
    std::vector<Affine> index;
    for (std::size_t k = 0; k < stage.index.size(); ++k) {
      bind(stage.index[k], 0, dims_.back()[k], tree.index);
      index.push_back(scope_.at(stage.index[k]));
    }
    tree.position = flat(index, dims_.back());
    tree.body = convert(*stage.body, false);
    return tree;
  }

 private:
  struct Bounds {
    std::int64_t least, most;
  };

  Bounds bounds(const Affine& a) const {
    Bounds b{a.constant, a.constant};
    for (const auto& [variable, c] : a.coefficients) {
      const auto& [low, high] = limits_[variable];
      b.least += c * (c > 0 ? low : high - 1);
      b.most += c * (c > 0 ? high - 1 : low);
    }
    return b;
  }

  Affine affine(const Polynomial& p) const {
    Affine result{p.constant(), {}};
    for (const auto& term : p.terms()) {
      CHECK(term.monomial.size() == 1, "an index expression is not affine");
      const auto found = scope_.find(term.monomial[0]);
      CHECK(found != scope_.end(), "a size is not a number, or a variable has no binder");
      result.add(found->second, term.coefficient);
    }
    return result;
  }

  static Affine flat(const std::vector<Affine>& index, const core::Dims& dims) {
    Affine result;
    std::int64_t stride = 1;
    for (std::size_t k = index.size(); k-- > 0; stride *= dims[k]) result.add(index[k], stride);
    return result;
  }

  /// A variable with one value is that value; the others get a number each time they are bound.
  void bind(Symbol symbol, std::int64_t low, std::int64_t high, std::vector<Range>& ranges) {
    if (high - low == 1) {
      scope_[symbol] = Affine{low, {}};
      return;
    }
    const auto variable = static_cast<std::uint32_t>(limits_.size());
    limits_.emplace_back(low, high);
    has_empty_range_ |= high <= low;
    ranges.push_back({variable, low, high});
    scope_[symbol] = Affine{0, {{variable, 1}}};
  }

  void bind(const Binder& binder, Domain& domain) {
    const Affine low = affine(binder.low), high = affine(binder.high);
    bind(binder.variable, bounds(low).least, bounds(high).most, domain.ranges);
    const Affine v = scope_[binder.variable];
    Affine above = v, below = high;
    above.add(low, -1);
    below.add(v, -1);
    below.constant -= 1;
    if (!low.coefficients.empty())
      domain.constraints.push_back({Constraint::Kind::kNonNegative, above});
    if (!high.coefficients.empty())
      domain.constraints.push_back({Constraint::Kind::kNonNegative, below});
  }

  /// Adds the constraint unless it always holds. Returns whether it can hold at all.
  bool restrict(const Constraint& c, Domain& domain) const {
    const Affine form = affine(c.expression);
    const auto [least, most] = bounds(form);
    if (c.kind == Constraint::Kind::kNonNegative ? least >= 0 : least == 0 && most == 0)
      return true;
    domain.constraints.push_back({c.kind, form});
    return c.kind == Constraint::Kind::kNonNegative ? most >= 0 : least <= 0 && most >= 0;
  }

  bool restrict(const std::vector<Constraint>& constraints, Domain& domain) const {
    return std::all_of(constraints.begin(), constraints.end(),
                       [&](const Constraint& c) { return restrict(c, domain); });
  }

  TreeNode convert(const ExprNode& e, bool guarded) {
    TreeNode node;
    switch (e.kind) {
    case ExprKind::kNumber:
      node.number = e.number;
      return node;
    case ExprKind::kIndexValue:
      node.kind = NodeKind::kIndexValue;
      node.position = affine(e.index[0]);
      return node;
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      return convert_read(e, guarded);
    case ExprKind::kAdd:
      node.kind = NodeKind::kAdd;
      break;
    case ExprKind::kMul:
      node.kind = NodeKind::kMul;
      break;
    case ExprKind::kInverse:
      node.kind = NodeKind::kInverse;
      break;
    case ExprKind::kApply:
      node.kind = NodeKind::kApply;
      node.function = e.function;
      break;
    case ExprKind::kGuard:
    case ExprKind::kSum:
      return convert_sum(e, guarded);
    case ExprKind::kMax:
      return convert_maximum(e, guarded);
    }
    for (const Expr& argument : e.arguments) node.children.push_back(convert(*argument, guarded));
    return node;
  }

  TreeNode convert_read(const ExprNode& e, bool guarded) {
    CHECK(e.tensor + 1 < dims_.size(), "a stage reads a tensor that comes after it");
    const core::Dims& dims = dims_[e.tensor];
    TreeNode node;
    node.kind = NodeKind::kRead;
    node.tensor = e.tensor;
    std::vector<Affine> index;
    for (const Polynomial& p : e.index) index.push_back(affine(p));
    const bool is_flat = e.kind == ExprKind::kReadFlat;
    const core::Dims sizes = is_flat ? core::Dims{core::element_count(dims)} : dims;
    CHECK(index.size() == sizes.size(), "a read has as many indices as the tensor has dimensions");
    for (std::size_t k = 0; k < index.size() && !guarded && !has_empty_range_; ++k) {
      const auto [least, most] = bounds(index[k]);
      CHECK(least >= 0 && most < sizes[k], "an unguarded read is out of bounds");
    }
    node.position = flat(index, sizes);
    return node;
  }

  /// A guard is a sum without binders.
  TreeNode convert_sum(const ExprNode& e, bool guarded) {
    Domain domain;
    for (const Binder& b : e.binders) bind(b, domain);
    if (!restrict(e.constraints, domain)) return TreeNode();
    TreeNode body = convert(*e.arguments[0], guarded || !domain.constraints.empty());
    absorb(body, domain);
    if (domain.ranges.empty() && domain.constraints.empty()) return body;
    TreeNode node;
    node.kind = domain.ranges.empty() ? NodeKind::kGuard : NodeKind::kSum;
    node.children.push_back(std::move(body));
    node.domains.push_back(std::move(domain));
    if (node.kind == NodeKind::kSum) recognize_lookup(node);
    return node;
  }

  /// Moves the domain of a summand into that of the sum; a factor's guard guards the product.
  static void absorb(TreeNode& body, Domain& domain) {
    const auto take = [&](TreeNode& inner) {
      auto& [ranges, constraints] = inner.domains[0];
      domain.ranges.insert(domain.ranges.end(), ranges.begin(), ranges.end());
      domain.constraints.insert(domain.constraints.end(), constraints.begin(), constraints.end());
      TreeNode content = std::move(inner.children[0]);
      inner = std::move(content);
    };
    while (body.kind == NodeKind::kGuard || body.kind == NodeKind::kSum) take(body);
    if (body.kind != NodeKind::kMul || domain.ranges.empty()) return;
    std::vector<TreeNode> factors;
    for (TreeNode& factor : body.children) {
      while (factor.kind == NodeKind::kGuard) take(factor);
      if (factor.kind == NodeKind::kMul) {
        std::move(factor.children.begin(), factor.children.end(), std::back_inserter(factors));
      } else {
        factors.push_back(std::move(factor));
      }
    }
    body.children = std::move(factors);
  }

  TreeNode convert_maximum(const ExprNode& e, bool guarded) {
    TreeNode node;
    node.kind = NodeKind::kMax;
    for (const Alternative& alternative : e.alternatives) {
      Domain domain;
      for (const Binder& b : alternative.binders) bind(b, domain);
      if (!restrict(alternative.constraints, domain)) continue;
      node.children.push_back(convert(*alternative.body, guarded || !domain.constraints.empty()));
      node.domains.push_back(std::move(domain));
    }
    return node;
  }

  std::span<const core::Dims> dims_;
  std::map<Symbol, Affine> scope_;
  std::vector<std::pair<std::int64_t, std::int64_t>> limits_;
  bool has_empty_range_ = false;  // something is never evaluated: bounds of indices say nothing
};

}  // namespace

std::int64_t Affine::coefficient(std::uint32_t variable) const {
  const auto found = coefficients.find(variable);
  return found == coefficients.end() ? 0 : found->second;
}

void Affine::add(const Affine& other, std::int64_t times) {
  constant += other.constant * times;
  for (const auto& [variable, c] : other.coefficients) {
    const auto [at, is_new] = coefficients.try_emplace(variable, 0);
    if ((at->second += c * times) == 0) coefficients.erase(at);
  }
}

bool mentions(const TreeNode& node, std::uint32_t variable) {
  bool found = false;
  for_each_form(node, [&](const Affine& a) { found |= a.coefficient(variable) != 0; });
  return found;
}

StageTree make_tree(const Stage& stage, std::span<const core::Dims> dims) {
  return TreeBuilder(dims).build(stage);
}

}  // namespace soapstone::ops::evaluation
