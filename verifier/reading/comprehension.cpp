// See comprehension.h. Each kind of expression has one law: sums and guards go to the summands, all
// else to the laws of its operation.
#include "verifier/reading/comprehension.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/language/rational.h"
#include "verifier/digits/flat_position.h"
#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"
#include "verifier/reading/selection.h"

namespace soapstone::verifier {
namespace {

using ops::ExprKind;
using ops::Function;

/// Whether the value depends on elements of tensors.
bool reads_tensor(const ops::ExprNode& node) {
  return node.kind == ExprKind::kRead || node.kind == ExprKind::kReadFlat ||
         std::any_of(node.arguments.begin(), node.arguments.end(),
                     [](const ops::Expr& argument) { return reads_tensor(*argument); }) ||
         std::any_of(node.alternatives.begin(), node.alternatives.end(),
                     [](const ops::Alternative& each) { return reads_tensor(*each.body); });
}

}  // namespace

/// One walk: what does not change on the way.
struct ComprehensionReader::Walk {
  const ComprehensionReader& reader;
  Laws& laws;
  const Element& read;
  const ShapeOf& shape_of;

  Linear linear(const core::Polynomial& polynomial, const Substitution& names) const {
    return Linear(polynomial).substitute(names);
  }

  Fact fact(const ops::Constraint& constraint, const Substitution& names) const {
    const Linear expression = linear(constraint.expression, names);
    return constraint.kind == ops::Constraint::Kind::kZero ? equal(expression, 0)
                                                           : at_least(expression, 0);
  }

  /// The binders as fresh counters: names for the body, ranges among the guards.
  Substitution bind(const std::vector<ops::Binder>& binders,
                    const std::vector<ops::Constraint>& constraints, const Substitution& names,
                    FactSet& guards, std::vector<Symbol>& symbols) const {
    Substitution inner = names;
    for (const ops::Binder& binder : binders) {
      const Linear counter = laws.digits.counter(linear(binder.low, inner),
                                                 linear(binder.high, inner), guards, symbols);
      inner.emplace_back(binder.variable, counter);
    }
    for (const ops::Constraint& constraint : constraints) insert(guards, fact(constraint, inner));
    return inner;
  }

  /// Σ over low ≤ v < high of [p = v]·x(v) is x(p) where p is an integer that certainly lies there.
  std::optional<NormalForm> selected(const ops::ExprNode& node, const Substitution& names,
                                     const FactSet& context) const {
    const auto place = selecting_place(node);
    if (!place) return std::nullopt;
    const auto at = as_integer(evaluate(**place, names, context));
    const ops::Binder& binder = node.binders[0];
    const bool is_inside = at &&
                           laws.proof.implied(context, at_least(*at, linear(binder.low, names))) &&
                           laws.proof.implied(context, less(*at, linear(binder.high, names)));
    if (!is_inside) return std::nullopt;
    Substitution inner = names;
    inner.emplace_back(binder.variable, *at);
    NormalForm result{Summand{}};
    const auto factors = std::span(node.arguments[0]->arguments).subspan(1);
    for (const ops::Expr& factor : factors)
      result = laws.simplifier.product(result, evaluate(*factor, inner, context), context);
    return result;
  }

  NormalForm sum(const ops::ExprNode& node, const Substitution& names,
                 const FactSet& context) const {
    if (auto result = selected(node, names, context)) return *std::move(result);
    FactSet guards;
    std::vector<Symbol> symbols;
    const Substitution inner = bind(node.binders, node.constraints, names, guards, symbols);
    NormalForm result;
    for (Summand& summand : evaluate(*node.arguments[0], inner, unite(context, guards))) {
      summand.guards = unite(summand.guards, guards);
      summand.binders.insert(summand.binders.end(), symbols.begin(), symbols.end());
      for (Summand& part : laws.simplifier.simplify(std::move(summand), context)) {
        result.push_back(std::move(part));
      }
    }
    return collected(std::move(result));
  }

  NormalForm guard(const ops::ExprNode& node, const Substitution& names,
                   const FactSet& context) const {
    FactSet open;
    for (const ops::Constraint& constraint : node.constraints) {
      Fact condition = fact(constraint, names);
      if (!laws.proof.implied(context, condition)) insert(open, std::move(condition));
    }
    const FactSet inside = unite(context, open);
    if (!open.empty() && !laws.proof.possible(inside)) return {};
    NormalForm result = evaluate(*node.arguments[0], names, inside);
    for (Summand& summand : result) summand.guards = unite(summand.guards, open);
    return result;
  }

  NormalForm maximum(const ops::ExprNode& node, const Substitution& names,
                     const FactSet& context) const {
    std::vector<OpenPiece> pieces;
    for (const ops::Alternative& alternative : node.alternatives) {
      OpenPiece piece;
      const Substitution inner =
          bind(alternative.binders, alternative.constraints, names, piece.guards, piece.binders);
      piece.body = evaluate(*alternative.body, inner, unite(context, piece.guards));
      pieces.push_back(std::move(piece));
    }
    return laws.maxima.maximum(std::move(pieces), context);
  }

  NormalForm read_flat(const ops::ExprNode& node, const Substitution& names,
                       const FactSet& context) const {
    const auto in_range = [&](const Linear& digit, const Linear& radix) {
      return laws.proof.implied(context, at_least(digit, 0)) &&
             laws.proof.implied(context, less(digit, radix));
    };
    const Linear position = laws.digits.unnamed(linear(node.index[0], names));
    const std::vector<Linear> shape = shape_of(node.tensor);
    if (const auto digits = digits_of(position, shape, in_range)) {
      return read(node.tensor, *digits, context);
    }
    if (const auto digits = laws.digits.named(position, shape)) {
      return read(node.tensor, *digits, context);
    }
    return read_some(node.tensor, position, shape, context);
  }

  /// Reads the element as a sum over all indices, of which exactly one has this position.
  NormalForm read_some(std::uint32_t tensor, const Linear& position,
                       const std::vector<Linear>& shape, const FactSet& context) const {
    FactSet guards;
    std::vector<Symbol> symbols;
    std::vector<Linear> index;
    Linear sum;
    for (const Linear& size : shape) {
      if (size == Linear(1)) {
        index.emplace_back(0);
        continue;
      }
      const Symbol digit = laws.proof.arena.fresh();
      symbols.push_back(digit);
      insert(guards, at_least(digit, 0));
      insert(guards, less(digit, size));
      index.emplace_back(digit);
      sum = sum * size + digit;
    }
    insert(guards, equal(sum, position));
    NormalForm result;
    for (Summand& summand : read(tensor, index, unite(context, guards))) {
      summand.guards = unite(summand.guards, guards);
      summand.binders.insert(summand.binders.end(), symbols.begin(), symbols.end());
      for (Summand& part : laws.simplifier.simplify(std::move(summand), context)) {
        result.push_back(std::move(part));
      }
    }
    return collected(std::move(result));
  }

  NormalForm apply(const ops::ExprNode& node, const Substitution& names,
                   const FactSet& context) const {
    std::vector<NormalForm> arguments;
    for (const ops::Expr& argument : node.arguments) {
      // A branch may have no value where it is not chosen.
      std::optional<Demands::InChoice> choice;
      if (node.function == Function::kSelect && !arguments.empty()) {
        choice.emplace(laws.demands,
                       Choice{arguments[0], arguments.size() == 1 ? Choice::Role::kFirst
                                                                  : Choice::Role::kSecond});
      }
      arguments.push_back(evaluate(*argument, names, context));
    }
    if (node.function == Function::kLog || node.function == Function::kSqrt) {
      laws.demands.note(node.function, arguments[0], context);
    } else if (node.function == Function::kPow) {
      std::optional<Demands::InChoice> choice;
      if (!as_constant(collected(arguments[1]))) {
        choice.emplace(laws.demands, Choice{arguments[1], Choice::Role::kExponent});
      }
      laws.demands.note_power(arguments, context);
    }
    return laws.functions.apply(node.function, arguments, context);
  }

  NormalForm reciprocal(const ops::ExprNode& node, const Substitution& names,
                        const FactSet& context) const {
    const NormalForm argument = evaluate(*node.arguments[0], names, context);
    // An operator that divides by a count of its own, as of the places under a window, has shape
    // constraints by which it counts something.
    const bool is_count = !reads_tensor(*node.arguments[0]);
    if (!is_count) laws.demands.note(Function::kPow, argument, context);
    NormalForm result = laws.simplifier.reciprocal(argument, context);
    if (is_count) laws.demands.note_counts(result);
    return result;
  }

  NormalForm evaluate(const ops::ExprNode& node, const Substitution& names,
                      const FactSet& context) const {
    laws.proof.spend();
    switch (node.kind) {
    case ExprKind::kNumber:
      return reader.number(node.number);
    case ExprKind::kIndexValue:
      return laws.proof.arena.value_of(linear(node.index[0], names));
    case ExprKind::kRead: {
      std::vector<Linear> index;
      for (const core::Polynomial& part : node.index) index.push_back(linear(part, names));
      return read(node.tensor, index, context);
    }
    case ExprKind::kReadFlat:
      return read_flat(node, names, context);
    case ExprKind::kAdd: {
      NormalForm result;
      for (const ops::Expr& argument : node.arguments) {
        for (Summand& summand : evaluate(*argument, names, context))
          result.push_back(std::move(summand));
      }
      return collected(std::move(result));
    }
    case ExprKind::kMul: {
      NormalForm result{Summand{}};
      for (const ops::Expr& argument : node.arguments) {
        result = laws.simplifier.product(result, evaluate(*argument, names, context), context);
      }
      return result;
    }
    case ExprKind::kInverse:
      return reciprocal(node, names, context);
    case ExprKind::kApply:
      return apply(node, names, context);
    case ExprKind::kGuard:
      return guard(node, names, context);
    case ExprKind::kSum:
      return sum(node, names, context);
    case ExprKind::kMax:
      return maximum(node, names, context);
    }
    return {};
  }
};

NormalForm ComprehensionReader::evaluate(const ops::Expr& expression, const Substitution& names,
                                         const Element& element, const ShapeOf& shape_of,
                                         const FactSet& context) const {
  return Walk{*this, laws_, element, shape_of}.evaluate(*expression, names, context);
}

NormalForm ComprehensionReader::number(const ops::Rational& value) const {
  const ops::Rational negative{-value.numerator, value.denominator};
  for (std::uint32_t place = 0; place < unknowns_.size(); ++place) {
    if (unknowns_[place] != value && unknowns_[place] != negative) continue;
    NormalForm unknown = summand_of(laws_.proof.arena.read(kFirstUnknown + place, {}));
    return unknowns_[place] == value ? unknown : scaled(std::move(unknown), -1);
  }
  const ops::Rational canonical = ops::canonical_constant(value);
  return laws_.proof.arena.number(Fraction(canonical.numerator, canonical.denominator));
}

}  // namespace soapstone::verifier
