// Goes through the text of a comprehension and notes each read with the variables and constraints
// in scope.
#include "ops/partition/accesses.h"

#include <algorithm>

namespace soapstone::ops::partition {
namespace {

bool bounds_read(const Polynomial& expression, const ExprNode& read,
                 std::span<const core::Dims> dims) {
  if (read.kind != ExprKind::kRead) return false;
  for (std::size_t d = 0; d < read.index.size(); ++d)
    if (expression == read.index[d] ||
        expression == Polynomial(dims[read.tensor][d] - 1) - read.index[d])
      return true;
  return false;
}

bool bounds_any(const Polynomial& expression, const ExprNode& e, std::span<const core::Dims> dims) {
  const auto in = [&](const Expr& body) { return bounds_any(expression, *body, dims); };
  return bounds_read(expression, e, dims) || std::ranges::any_of(e.arguments, in) ||
         std::ranges::any_of(e.alternatives, [&](const Alternative& a) { return in(a.body); });
}

class AccessWalk {
 public:
  AccessWalk(std::span<const core::Dims> dims, std::vector<Access>& found)
      : dims_(dims), found_(found) {}

  void through(std::size_t stage, const ExprNode& body) {
    scope_ = {};
    scope_.stage = stage;
    visit(body);
  }

 private:
  void visit(const ExprNode& e) {
    if (e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat) {
      Access access = scope_;
      access.tensor = e.tensor;
      access.is_flat = e.kind == ExprKind::kReadFlat;
      access.index = e.index;
      found_.push_back(std::move(access));
      return;
    }
    for (const Alternative& a : e.alternatives) visit_within(a.binders, a.constraints, *a.body);
    for (const Expr& argument : e.arguments) visit_within(e.binders, e.constraints, *argument);
  }

  void visit_within(const std::vector<Binder>& binders, const std::vector<Constraint>& constraints,
                    const ExprNode& body) {
    if (binders.empty() && constraints.empty()) return visit(body);
    const Access outer = scope_;
    scope_.binders.insert(scope_.binders.end(), binders.begin(), binders.end());
    for (const Constraint& c : constraints)
      (is_bound(c, body, dims_) ? scope_.bounds : scope_.selections).push_back(c);
    visit(body);
    scope_ = outer;
  }

  std::span<const core::Dims> dims_;
  std::vector<Access>& found_;
  Access scope_;
};

}  // namespace

std::vector<Access> accesses_of(const Semantics& semantics, std::span<const core::Dims> dims) {
  std::vector<Access> found;
  AccessWalk walk(dims, found);
  for (std::size_t s = 0; s < semantics.stages.size(); ++s)
    walk.through(s, *semantics.stages[s].body);
  return found;
}

bool is_bound(const Constraint& constraint, const ExprNode& body,
              std::span<const core::Dims> dims) {
  return constraint.kind == Constraint::Kind::kNonNegative &&
         bounds_any(constraint.expression, body, dims);
}

}  // namespace soapstone::ops::partition
