// See choices.h. A sum is a choice if at most one of its terms can be other than 0: pieces that lie
// one behind the other, an element and the frame around it, or the one element at a place.
#include "ops/analysis/choices.h"

#include <algorithm>

namespace soapstone::ops {
namespace {

bool is_integer(const ExprNode& node, std::int64_t value) {
  return node.kind == ExprKind::kNumber && node.number == Rational{value, 1};
}

/// The other factor of a product of two of which `value` is one; null: it is no such product.
const ExprNode* times(const ExprNode& node, std::int64_t value) {
  if (node.kind != ExprKind::kMul || node.arguments.size() != 2) return nullptr;
  if (is_integer(*node.arguments[0], value)) return node.arguments[1].get();
  return is_integer(*node.arguments[1], value) ? node.arguments[0].get() : nullptr;
}

/// The value of the polynomial is below 0 at all values of its symbols.
bool is_negative(const Polynomial& p) {
  return p.constant() < 0 && std::ranges::all_of(p.terms(), [](const Polynomial::Term& term) {
           return term.coefficient < 0 && std::ranges::none_of(term.monomial, &Symbol::is_index);
         });
}

/// No index satisfies the constraints of both guards.
bool are_disjoint(const ExprNode& a, const ExprNode& b) {
  return std::ranges::any_of(a.constraints, [&](const Constraint& of_a) {
    return std::ranges::any_of(b.constraints, [&](const Constraint& of_b) {
      return of_a.kind == Constraint::Kind::kNonNegative &&
             of_b.kind == Constraint::Kind::kNonNegative &&
             is_negative(of_a.expression + of_b.expression);
    });
  });
}

/// Some constraint determines the binder: none of the other binders is in it.
bool is_determined(const ExprNode& sum, Symbol binder) {
  return std::ranges::any_of(sum.constraints, [&](const Constraint& constraint) {
    const Polynomial& p = constraint.expression;
    const Polynomial rest = p - p.coefficient(binder) * Polynomial(binder);
    return constraint.kind == Constraint::Kind::kZero && p.coefficient(binder) != 0 &&
           !rest.mentions(binder) && std::ranges::none_of(sum.binders, [&](const Binder& each) {
             return rest.mentions(each.variable);
           });
  });
}

/// The polynomial with the binders of one sum in place of those of another one.
Polynomial renamed(const Polynomial& p, const std::vector<Binder>& from,
                   const std::vector<Binder>& to) {
  return p.substitute([&](Symbol symbol) -> std::optional<Polynomial> {
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k].variable == symbol) return Polynomial(to[k].variable);
    return std::nullopt;
  });
}

/// Both are guards, or both sums, under the same constraints.
bool have_same_place(const ExprNode& a, const ExprNode& b) {
  if (a.kind != b.kind || a.binders.size() != b.binders.size()) return false;
  const auto same = [&](const Polynomial& p, const Polynomial& q) {
    return p == renamed(q, b.binders, a.binders);
  };
  return std::ranges::equal(a.binders, b.binders,
                            [&](const Binder& x, const Binder& y) {
                              return same(x.low, y.low) && same(x.high, y.high);
                            }) &&
         std::ranges::equal(a.constraints, b.constraints,
                            [&](const Constraint& x, const Constraint& y) {
                              return x.kind == y.kind && same(x.expression, y.expression);
                            });
}

class Chooser {
 public:
  Chooser(const Semantics& semantics, const core::Attributes& attributes) : semantics_(semantics) {
    for (const auto& [name, value] : attributes.values())
      if (const auto* real = std::get_if<double>(&value)) named_.push_back(to_rational(*real));
  }

  std::optional<Choices> all() {
    for (const std::uint32_t output : semantics_.outputs)
      if (!reads_choice(output)) return std::nullopt;
    return std::move(choices_);
  }

 private:
  bool chooses(const ExprNode& node) {
    switch (node.kind) {
    case ExprKind::kNumber:
      return is_named(node.number);
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      return reads_choice(node.tensor);
    case ExprKind::kGuard:
      return chooses(*node.arguments[0]);
    case ExprKind::kAdd:
      return is_one_of_pieces(node) || is_framed(node);
    case ExprKind::kSum:
      return is_one_term(node);
    case ExprKind::kMax:
      return std::ranges::all_of(node.alternatives,
                                 [&](const Alternative& each) { return is_rival(*each.body); });
    case ExprKind::kApply:
      return is_case(node);
    case ExprKind::kMul:
      return is_minimum(node);
    case ExprKind::kIndexValue:
    case ExprKind::kInverse:
      return false;
    }
    return false;
  }

  bool reads_choice(std::uint32_t tensor) {
    if (tensor >= semantics_.input_count)
      return chooses(*semantics_.stages[tensor - semantics_.input_count].body);
    choices_.chosen.insert(tensor);
    return true;
  }

  void compare(const ExprNode& node) {
    if (node.kind == ExprKind::kRead || node.kind == ExprKind::kReadFlat) {
      if (node.tensor < semantics_.input_count)
        choices_.compared.insert(node.tensor);
      else
        compare(*semantics_.stages[node.tensor - semantics_.input_count].body);
    }
    for (const Expr& argument : node.arguments) compare(*argument);
    for (const Alternative& each : node.alternatives) compare(*each.body);
  }

  bool is_rival(const ExprNode& node) {
    compare(node);
    return chooses(node);
  }

  bool is_named(const Rational& number) {
    if (number == Rational{0, 1} || number == Rational{1, 1}) return true;
    choices_.names_numbers = true;
    return std::ranges::find(named_, number) != named_.end();
  }

  bool is_case(const ExprNode& node) {
    if (node.function == Function::kRelu) return is_rival(*node.arguments[0]);
    if (node.function != Function::kSelect) return false;
    compare(*node.arguments[0]);
    return chooses(*node.arguments[1]) && chooses(*node.arguments[2]);
  }

  /// −max(−a, −b, …) of choices.
  bool is_minimum(const ExprNode& node) {
    const ExprNode* largest = times(node, -1);
    return largest != nullptr && largest->kind == ExprKind::kMax &&
           std::ranges::all_of(largest->alternatives, [&](const Alternative& each) {
             const Rational& number = each.body->number;
             if (each.body->kind == ExprKind::kNumber)
               return is_named({-number.numerator, number.denominator});
             const ExprNode* choice = times(*each.body, -1);
             return choice != nullptr && is_rival(*choice);
           });
  }

  /// Guards that exclude each other.
  bool is_one_of_pieces(const ExprNode& node) {
    const std::vector<Expr>& pieces = node.arguments;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      if (pieces[k]->kind != ExprKind::kGuard || !chooses(*pieces[k])) return false;
      for (std::size_t j = 0; j < k; ++j)
        if (!are_disjoint(*pieces[j], *pieces[k])) return false;
    }
    return true;
  }

  /// An element where there is one, plus value · (1 − [there is one]).
  bool is_framed(const ExprNode& node) {
    if (node.arguments.size() != 2) return false;
    const ExprNode &inside = *node.arguments[0], &around = *node.arguments[1];
    if (around.kind != ExprKind::kMul || around.arguments.size() != 2) return false;
    const ExprNode &value = *around.arguments[0], &outside = *around.arguments[1];
    if (value.kind != ExprKind::kNumber || outside.kind != ExprKind::kAdd ||
        outside.arguments.size() != 2 || !is_integer(*outside.arguments[0], 1))
      return false;
    const ExprNode* there = times(*outside.arguments[1], -1);
    return there != nullptr && (there->kind == ExprKind::kGuard || there->kind == ExprKind::kSum) &&
           is_integer(*there->arguments[0], 1) && have_same_place(inside, *there) &&
           is_named(value.number) && chooses(inside);
  }

  /// A sum over binders each of which has one value, be it one that another tensor holds.
  bool is_one_term(const ExprNode& node) {
    const ExprNode& body = *node.arguments[0];
    const bool all_determined = std::ranges::all_of(
        node.binders, [&](const Binder& each) { return is_determined(node, each.variable); });
    if (all_determined) return chooses(body);
    if (node.binders.size() != 1 || body.kind != ExprKind::kMul || body.arguments.size() != 2)
      return false;
    const ExprNode& at = *body.arguments[0];
    if (!tests_place(at, node.binders[0].variable)) return false;
    compare(at);
    return chooses(*body.arguments[1]);
  }

  /// [place = binder] for a place that does not depend on the binder.
  static bool tests_place(const ExprNode& node, Symbol binder) {
    if (node.kind != ExprKind::kApply || node.function != Function::kEqual) return false;
    const ExprNode &place = *node.arguments[0], &value = *node.arguments[1];
    return place.kind == ExprKind::kRead &&
           std::ranges::none_of(place.index,
                                [&](const Polynomial& p) { return p.mentions(binder); }) &&
           value.kind == ExprKind::kIndexValue && value.index[0] == Polynomial(binder);
  }

  const Semantics& semantics_;
  std::vector<Rational> named_;
  Choices choices_;
};

}  // namespace

std::optional<Choices> choices_of(const Semantics& semantics, const core::Attributes& attributes) {
  return Chooser(semantics, attributes).all();
}

}  // namespace soapstone::ops
