// One walk over all parts of an expression node serves each question; copies are made bottom up.
#include "ops/gradients/renaming.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

/// Calls visit(child) for the bodies of all alternatives and for all arguments.
template <class Visit>
void for_each_child(const ExprNode& node, const Visit& visit) {
  for (const Alternative& a : node.alternatives) visit(a.body);
  for (const Expr& argument : node.arguments) visit(argument);
}

void note_largest(const std::vector<Binder>& binders, std::uint32_t& next) {
  for (const Binder& b : binders) next = std::max(next, b.variable.id - Symbol::kFirstIndex + 1);
}

void note_largest(const Expr& e, std::uint32_t& next) {
  note_largest(e->binders, next);
  for (const Alternative& a : e->alternatives) note_largest(a.binders, next);
  for_each_child(*e, [&](const Expr& child) { note_largest(child, next); });
}

/// Binders over fresh variables; bounds see the variables before them.
std::vector<Binder> with_fresh_variables(const std::vector<Binder>& binders, Substitution& by,
                                         FreshVariables& fresh) {
  std::vector<Binder> result;
  for (const Binder& b : binders) {
    result.push_back({fresh(), substituted(b.low, by), substituted(b.high, by)});
    by.insert_or_assign(b.variable, Polynomial(result.back().variable));
  }
  return result;
}

/// The free variables of a piece of an expression; binders remove those that they bind.
class FreeVariables {
 public:
  std::set<Symbol> found;

  void visit(const Expr& e) {
    with(e->binders, [&] {
      note(e->constraints);
      for (const Polynomial& p : e->index) note(p);
      for (const Expr& argument : e->arguments) visit(argument);
    });
    for (const Alternative& a : e->alternatives)
      with(a.binders, [&] {
        note(a.constraints);
        visit(a.body);
      });
  }

 private:
  template <class Body>
  void with(const std::vector<Binder>& binders, const Body& body) {
    for (const Binder& b : binders) {
      note(b.low);
      note(b.high);
      bound_.insert(b.variable);
    }
    body();
    for (const Binder& b : binders) bound_.erase(b.variable);
  }

  void note(const Polynomial& p) {
    for (const Symbol s : p.symbols())
      if (s.is_index() && !bound_.contains(s)) found.insert(s);
  }
  void note(const std::vector<Constraint>& constraints) {
    for (const Constraint& c : constraints) note(c.expression);
  }

  std::set<Symbol> bound_;
};

void note_reads(const Expr& e, std::set<std::uint32_t>& tensors) {
  if (e->kind == ExprKind::kRead || e->kind == ExprKind::kReadFlat) tensors.insert(e->tensor);
  for_each_child(*e, [&](const Expr& child) { note_reads(child, tensors); });
}

}  // namespace

FreshVariables::FreshVariables(const Semantics& semantics) {
  for (const Stage& stage : semantics.stages) {
    for (const Symbol s : stage.index) next_ = std::max(next_, s.id - Symbol::kFirstIndex + 1);
    note_largest(stage.body, next_);
  }
  for (const Requirement& r : semantics.requirements) {
    for (const Symbol s : r.index) next_ = std::max(next_, s.id - Symbol::kFirstIndex + 1);
    note_largest(r.value, next_);
  }
}

Polynomial substituted(const Polynomial& value, const Substitution& by) {
  return value.substitute([&](Symbol s) -> std::optional<Polynomial> {
    const auto found = by.find(s);
    if (found == by.end()) return std::nullopt;
    return found->second;
  });
}

std::vector<Constraint> substituted(std::vector<Constraint> constraints, const Substitution& by) {
  for (Constraint& c : constraints) c.expression = substituted(c.expression, by);
  return constraints;
}

Expr copy_of(const Expr& expression, Substitution by, FreshVariables& fresh) {
  ExprNode node = *expression;
  node.binders = with_fresh_variables(expression->binders, by, fresh);
  node.constraints = substituted(expression->constraints, by);
  for (Polynomial& p : node.index) p = substituted(p, by);
  for (Alternative& a : node.alternatives) {
    Substitution inside = by;
    a.binders = with_fresh_variables(a.binders, inside, fresh);
    a.constraints = substituted(std::move(a.constraints), inside);
    a.body = copy_of(a.body, std::move(inside), fresh);
  }
  for (Expr& argument : node.arguments) argument = copy_of(argument, by, fresh);
  return std::make_shared<const ExprNode>(std::move(node));
}

Expr with_tensors(const Expr& expression, const std::vector<std::uint32_t>& tensors) {
  ExprNode node = *expression;
  if (node.kind == ExprKind::kRead || node.kind == ExprKind::kReadFlat)
    node.tensor = tensors[node.tensor];
  for (Alternative& a : node.alternatives) a.body = with_tensors(a.body, tensors);
  for (Expr& argument : node.arguments) argument = with_tensors(argument, tensors);
  return std::make_shared<const ExprNode>(std::move(node));
}

std::set<Symbol> free_variables(const Expr& expression) {
  FreeVariables walk;
  walk.visit(expression);
  return std::move(walk.found);
}

bool reads_any(const Expr& expression, const std::set<std::uint32_t>& tensors) {
  return std::ranges::any_of(tensors_read(expression),
                             [&](std::uint32_t t) { return tensors.contains(t); });
}

std::set<std::uint32_t> tensors_read(const Expr& expression) {
  std::set<std::uint32_t> tensors;
  note_reads(expression, tensors);
  return tensors;
}

}  // namespace soapstone::ops
