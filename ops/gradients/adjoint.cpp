// The stages of the adjoint: those of the operator again, then, from its last stage to its first
// and to the input, the cotangent of each. A value that a cotangent multiplies and that is itself a
// sum or a maximum becomes a stage of its own, so that it is computed once.
#include "ops/gradients/adjoint.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "core/base/check.h"
#include "ops/definition/indexing.h"
#include "ops/gradients/derivatives.h"
#include "ops/gradients/elimination.h"
#include "ops/gradients/pruning.h"
#include "ops/gradients/renaming.h"

namespace soapstone::ops {
namespace {

/// A place in the body of a stage, and what the cotangent of the stage is multiplied by on the way
/// to it. The first factor is the stage's cotangent at its index.
struct Place {
  IndexDomain domain;  ///< The index of the stage, and all binders around the place.
  std::vector<Expr> factors;
};

/// A place where a tensor is read.
struct Reading {
  Place place;
  Expr read;
};

bool is_read(const Expr& e) { return e->kind == ExprKind::kRead || e->kind == ExprKind::kReadFlat; }

/// Whether the expression loops over indices.
bool loops(const Expr& e) {
  if (!e->binders.empty()) return true;
  return std::ranges::any_of(e->arguments, loops) ||
         std::ranges::any_of(e->alternatives, [](const Alternative& a) {
           return !a.binders.empty() || loops(a.body);
         });
}

std::vector<Polynomial> indices(const std::vector<Symbol>& symbols) {
  return {symbols.begin(), symbols.end()};
}

Expr multiplied(const std::vector<Expr>& factors) {
  Expr result = factors.front();
  for (std::size_t k = 1; k < factors.size(); ++k) result = std::move(result) * factors[k];
  return result;
}

/// The expression with reads of the same element as `read` replaced by `element`.
Expr with_element(const Expr& e, const ExprNode& read, const Expr& element) {
  if (e->kind == read.kind && is_read(e) && e->tensor == read.tensor && e->index == read.index)
    return element;
  ExprNode node = *e;
  for (Alternative& a : node.alternatives) a.body = with_element(a.body, read, element);
  for (Expr& argument : node.arguments) argument = with_element(argument, read, element);
  return std::make_shared<const ExprNode>(std::move(node));
}

class Adjoint {
 public:
  explicit Adjoint(const AdjointOf& question)
      : question_(question), forward_(question.forward), fresh_(question.forward) {
    const auto outputs = static_cast<std::uint32_t>(forward_.outputs.size());
    CHECK(question.input < forward_.input_count && question.has_cotangent.size() == outputs &&
              question.input_shapes.size() == forward_.input_count,
          "an adjoint is asked for with inputs or cotangents that the operator has not");
    result_.input_count = forward_.input_count + outputs;
    for (std::uint32_t t = 0; t < forward_.input_count; ++t) numbers_.push_back(t);
    for (std::uint32_t s = 0; s < forward_.stages.size(); ++s)
      numbers_.push_back(result_.input_count + s);
  }

  Semantics run() {
    copy_forward();
    for (std::size_t s = forward_.stages.size(); s-- > 0;) {
      const std::uint32_t tensor = numbers_[forward_.input_count + s];
      if (!is_sensitive_.contains(tensor)) continue;
      if (const auto cotangent = cotangent_of(tensor, forward_.stages[s].shape))
        through(result_.stages[s], tensor, *cotangent);
    }
    result_.outputs = {
        stage_of_cotangent(question_.input, question_.input_shapes[question_.input])};
    return pruned(std::move(result_));
  }

 private:
  /// The operator's stages, with the numbers that tensors have in the result.
  void copy_forward() {
    is_sensitive_.insert(question_.input);
    for (const Stage& stage : forward_.stages) {
      result_.stages.push_back({stage.shape, stage.index, with_tensors(stage.body, numbers_)});
      if (is_sensitive(result_.stages.back().body))
        is_sensitive_.insert(numbers_[forward_.input_count + result_.stages.size() - 1]);
    }
    result_.requirements = forward_.requirements;
    for (Requirement& r : result_.requirements) r.value = with_tensors(r.value, numbers_);
  }

  bool is_sensitive(const Expr& e) const {
    return std::ranges::any_of(tensors_read(e),
                               [&](std::uint32_t t) { return is_sensitive_.contains(t); });
  }

  std::uint32_t add_stage(Stage stage) {
    result_.stages.push_back(std::move(stage));
    return result_.input_count + static_cast<std::uint32_t>(result_.stages.size()) - 1;
  }

  // --- Cotangents --------------------------------------------------------------------------------

  /// The cotangents of the outputs that the tensor is.
  std::vector<std::uint32_t> given_cotangents(std::uint32_t tensor) const {
    std::vector<std::uint32_t> given;
    for (std::uint32_t k = 0; k < forward_.outputs.size(); ++k)
      if (question_.has_cotangent[k] && numbers_[forward_.outputs[k]] == tensor)
        given.push_back(forward_.input_count + k);
    return given;
  }

  /// None: L does not depend on the tensor.
  std::optional<std::uint32_t> cotangent_of(std::uint32_t tensor, const Shape& shape) {
    const auto given = given_cotangents(tensor);
    const bool has_readers = readings_.contains(tensor);
    if (!has_readers && given.empty()) return std::nullopt;
    if (!has_readers && given.size() == 1) return given.front();
    return stage_of_cotangent(tensor, shape);
  }

  std::uint32_t stage_of_cotangent(std::uint32_t tensor, const Shape& shape) {
    Stage stage{shape, {}, number(Rational{0, 1})};
    for (std::size_t d = 0; d < shape.size(); ++d) stage.index.push_back(fresh_());
    for (const std::uint32_t given : given_cotangents(tensor))
      stage.body = stage.body + read(given, indices(stage.index));
    for (const Reading& reading : readings_[tensor])
      stage.body = stage.body + gathered(reading, stage);
    return add_stage(std::move(stage));
  }

  /// What one place of reading adds to the cotangent of the element at the index of `target`.
  Expr gathered(const Reading& reading, const Stage& target) {
    const std::vector<Polynomial> element = indices(target.index);
    if (auto moved = read_in_same_order(reading, target)) return moved;
    std::vector<Expr> factors;
    for (const Expr& f : reading.place.factors)
      factors.push_back(with_element(f, *reading.read, read(reading.read->tensor, element)));

    IndexDomain domain = reading.place.domain;
    if (reading.read->kind == ExprKind::kReadFlat) {
      domain.constraints.push_back(
          equal(reading.read->index[0], flat_position(target.shape, element)));
    } else {
      for (std::size_t d = 0; d < element.size(); ++d)
        domain.constraints.push_back(equal(reading.read->index[d], element[d]));
    }
    std::vector<Binder> around;
    for (std::size_t d = 0; d < element.size(); ++d)
      around.push_back({target.index[d], 0, target.shape[d]});
    const Substitution values = eliminate(domain, around);
    return sum(domain.binders, multiplied(factors), domain.constraints, values);
  }

  /// If all elements are read in row-major order, as a reshape does, the cotangent is read in that
  /// order, too. Null: they are not.
  static Expr read_in_same_order(const Reading& reading, const Stage& target) {
    const auto& [domain, factors] = reading.place;
    if (reading.read->kind != ExprKind::kReadFlat || factors.size() != 1 ||
        !domain.constraints.empty() || domain.binders.size() != factors[0]->index.size())
      return nullptr;
    Shape shape;
    for (const Binder& b : domain.binders) shape.push_back(b.high);
    if (reading.read->index[0] != flat_position(shape, factors[0]->index)) return nullptr;
    return read_flat(factors[0]->tensor, flat_position(target.shape, indices(target.index)));
  }

  /// A sum with fresh binders, of a body in which the values stand for variables.
  Expr sum(const std::vector<Binder>& binders, const Expr& body,
           const std::vector<Constraint>& constraints, Substitution values) {
    std::vector<Binder> renamed;
    Substitution names;
    for (const Binder& b : binders) {
      renamed.push_back({fresh_(), substituted(b.low, names), substituted(b.high, names)});
      names.insert_or_assign(b.variable, Polynomial(renamed.back().variable));
    }
    for (auto& [variable, value] : values) value = substituted(value, names);
    values.insert(names.begin(), names.end());
    return ops::sum(std::move(renamed), copy_of(body, values, fresh_),
                    substituted(constraints, values));
  }

  // --- Through the body of a stage ---------------------------------------------------------------

  void through(const Stage& stage, std::uint32_t tensor, std::uint32_t cotangent) {
    Place place;
    for (std::size_t d = 0; d < stage.index.size(); ++d)
      place.domain.binders.push_back({stage.index[d], 0, stage.shape[d]});
    place.factors.push_back(read(cotangent, indices(stage.index)));
    values_.clear();
    values_.emplace(stage.body.get(), read(tensor, indices(stage.index)));
    visit(Expr(stage.body), std::move(place));
  }

  void visit(const Expr& e, Place place) {
    if (!is_sensitive(e)) return;
    switch (e->kind) {
    case ExprKind::kNumber:
    case ExprKind::kIndexValue:
      return;
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      readings_[e->tensor].push_back({std::move(place), e});
      return;
    case ExprKind::kAdd:
      for (const Expr& term : e->arguments) visit(term, place);
      return;
    case ExprKind::kMul:
      return visit_product(*e, place);
    case ExprKind::kInverse: {
      const Expr reciprocal = value_at(e, place);
      multiply(place, number(-1.0) * (reciprocal * reciprocal));
      return visit(e->arguments[0], std::move(place));
    }
    case ExprKind::kApply:
      return visit_function(*e, place);
    case ExprKind::kGuard:
    case ExprKind::kSum:
      return visit(e->arguments[0], inside(place, e->binders, e->constraints));
    case ExprKind::kMax:
      return visit_maximum(e, place);
    }
    CHECK(false, "unreachable");
  }

  static Place inside(Place place, const std::vector<Binder>& binders,
                      const std::vector<Constraint>& constraints) {
    auto& [own_binders, own_constraints] = place.domain;
    own_binders.insert(own_binders.end(), binders.begin(), binders.end());
    own_constraints.insert(own_constraints.end(), constraints.begin(), constraints.end());
    return place;
  }

  void multiply(Place& place, const Expr& factor) {
    place.factors.push_back(value_at(factor, place));
  }

  void visit_product(const ExprNode& e, const Place& place) {
    for (std::size_t k = 0; k < e.arguments.size(); ++k) {
      if (!is_sensitive(e.arguments[k])) continue;
      Place factor = place;
      for (std::size_t other = 0; other < e.arguments.size(); ++other)
        if (other != k) multiply(factor, e.arguments[other]);
      visit(e.arguments[k], std::move(factor));
    }
  }

  void visit_function(const ExprNode& e, const Place& place) {
    for (std::size_t k = 0; k < e.arguments.size(); ++k) {
      if (!is_sensitive(e.arguments[k])) continue;
      const Expr slope = derivative(e.function, e.arguments, k);
      if (!slope) continue;
      Place argument = place;
      multiply(argument, slope);
      visit(e.arguments[k], std::move(argument));
    }
  }

  void visit_maximum(const Expr& e, const Place& place) {
    const auto& alternatives = e->alternatives;
    const auto is_plain = [](const Alternative& a) {
      return a.binders.empty() && a.constraints.empty();
    };
    if (alternatives.size() == 2 && std::ranges::all_of(alternatives, is_plain))
      return visit_larger_of_two(alternatives[0].body, alternatives[1].body, place);
    const Expr largest = value_at(e, place);
    const Expr share = value_at(inverse(count_of_ties(*e, largest)), place);
    for (const Alternative& a : alternatives) {
      Place element = inside(place, a.binders, a.constraints);
      element.factors.push_back(share);
      element.factors.push_back(apply(Function::kEqual, {a.body, largest}));
      visit(a.body, std::move(element));
    }
  }

  /// Without a count: the larger gets all, and each half if they are equal.
  void visit_larger_of_two(const Expr& a, const Expr& b, const Place& place) {
    const Expr half = number(Rational{1, 2});
    for (const auto& [own, other] : {std::pair(a, b), std::pair(b, a)}) {
      if (!is_sensitive(own)) continue;
      Place element = place;
      const Expr x = value_at(own, place), y = value_at(other, place);
      element.factors.push_back(apply(Function::kLess, {y, x}) +
                                half * apply(Function::kEqual, {x, y}));
      visit(own, std::move(element));
    }
  }

  /// How many elements equal the maximum.
  Expr count_of_ties(const ExprNode& maximum, const Expr& largest) {
    Expr count = number(Rational{0, 1});
    for (const Alternative& a : maximum.alternatives)
      count = std::move(count) +
              sum(a.binders, apply(Function::kEqual, {a.body, largest}), a.constraints, {});
    return count;
  }

  // --- Values as stages --------------------------------------------------------------------------

  /// The value of an expression at a place: a read of a stage, if it takes loops to compute it.
  Expr value_at(const Expr& e, const Place& place) {
    if (!loops(e)) return e;
    if (const auto known = values_.find(e.get()); known != values_.end()) return known->second;
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
    const Expr value = read(add_stage(std::move(stage)), at);
    if (!is_conditional) {
      values_.emplace(e.get(), value);
      kept_.push_back(e);
    }
    return value;
  }

  const AdjointOf& question_;
  const Semantics& forward_;
  FreshVariables fresh_;
  Semantics result_;
  std::vector<std::uint32_t> numbers_;    // in the result, of the operator's tensors
  std::set<std::uint32_t> is_sensitive_;  // tensors of the result that depend on the input
  std::map<std::uint32_t, std::vector<Reading>> readings_;  // of each tensor
  std::map<const ExprNode*, Expr> values_;  // stages that hold values of the current body
  std::vector<Expr> kept_;                  // so that no two of them have the same address
};

}  // namespace

Semantics adjoint(const AdjointOf& question) { return Adjoint(question).run(); }

}  // namespace soapstone::ops
