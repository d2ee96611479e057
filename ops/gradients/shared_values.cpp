// See shared_values.h.
#include "ops/gradients/shared_values.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

/// Whether the expression loops over indices.
bool loops(const Expr& e) {
  if (!e->binders.empty()) return true;
  return std::ranges::any_of(e->arguments, loops) ||
         std::ranges::any_of(e->alternatives, [](const Alternative& a) {
           return !a.binders.empty() || loops(a.body);
         });
}

}  // namespace

std::uint32_t add_stage(Semantics& semantics, Stage stage) {
  semantics.stages.push_back(std::move(stage));
  return semantics.input_count + static_cast<std::uint32_t>(semantics.stages.size()) - 1;
}

void SharedValues::begin(const Expr& body, Expr value) {
  known_.clear();
  known_.emplace(body.get(), std::move(value));
}

Expr SharedValues::at(const Expr& e, const Place& place) {
  if (!loops(e)) return e;
  if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
  const std::set<Symbol> free = free_variables(e);
  Stage stage;
  for (const Binder& b : place.domain.binders) {
    if (!free.contains(b.variable)) continue;
    if (b.low != Polynomial(0) || std::ranges::any_of(b.high.symbols(), &Symbol::is_index))
      return e;
    stage.shape.push_back(b.high);
    stage.index.push_back(b.variable);
  }
  // What keeps the elements that it reads within bounds is about its own variables.
  std::vector<Constraint> conditions;
  for (const Constraint& c : place.domain.constraints)
    if (std::ranges::all_of(c.expression.symbols(),
                            [&](Symbol s) { return !s.is_index() || free.contains(s); }))
      conditions.push_back(c);
  const bool is_conditional = !conditions.empty();
  Substitution names;
  const std::vector<Polynomial> at = indices(stage.index);
  for (Symbol& s : stage.index) {
    const Symbol name = fresh_();
    names.emplace(s, Polynomial(name));
    s = name;
  }
  stage.body = guard(substituted(std::move(conditions), names), copy_of(e, names, fresh_));
  Expr value = read(add_stage(semantics_, std::move(stage)), at);
  if (!is_conditional) {
    known_.emplace(e.get(), value);
    kept_.push_back(e);
  }
  return value;
}

}  // namespace soapstone::ops
