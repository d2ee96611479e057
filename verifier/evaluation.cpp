// Walks a comprehension and builds its normal form.
#include <algorithm>
#include <utility>

#include "verifier/normalizer.h"

namespace soapstone::verifier {
namespace {

using ops::ExprKind;
using ops::Function;

/// Σ digit·(product of the radices behind it) = position. Digits are read off by which products
/// of sizes a summand contains; whether they are in range is for the caller to prove.
struct Digits {
  std::vector<Linear> digits;
  FactSet obligations;
};

/// position = quotient · radix + rest, taking into the quotient every summand that the radix
/// divides.
std::pair<Linear, Linear> split_by(const Linear& position, const Linear& radix) {
  Linear quotient;
  Linear rest;
  if (radix.is_constant()) {
    const std::int64_t n = radix.constant();
    for (const Linear::Part& part : position.parts()) {
      if (part.coefficient % n == 0) {
        quotient = quotient + Linear::product(part.monomial, part.coefficient / n);
      } else {
        rest = rest + Linear::product(part.monomial, part.coefficient);
      }
    }
    const std::int64_t constant = position.constant();
    const std::int64_t high = constant >= 0 ? constant / n : -((-constant + n - 1) / n);
    return {quotient + high, rest + (constant - high * n)};
  }
  if (radix.parts().size() != 1 || radix.constant() != 0) {
    throw OutOfBudget{"reshape by a size that is a sum"};
  }
  const Linear::Part& unit = radix.parts()[0];
  for (const Linear::Part& part : position.parts()) {
    const auto divided = part.monomial.divided_by(unit.monomial);
    if (divided && part.coefficient % unit.coefficient == 0) {
      quotient = quotient + Linear::product(*divided, part.coefficient / unit.coefficient);
    } else {
      rest = rest + Linear::product(part.monomial, part.coefficient);
    }
  }
  return {quotient, rest + position.constant()};
}

Digits digits_of(Linear position, const std::vector<Linear>& radices) {
  Digits result;
  for (std::size_t k = radices.size(); k-- > 0;) {
    if (radices[k] == Linear(1)) {
      result.digits.emplace_back(0);
      continue;
    }
    Linear digit;
    const bool last = std::all_of(radices.begin(), radices.begin() + static_cast<std::ptrdiff_t>(k),
                                  [](const Linear& size) { return size == Linear(1); });
    if (last) {
      digit = std::exchange(position, Linear(0));
    } else {
      std::tie(position, digit) = split_by(position, radices[k]);
    }
    insert(result.obligations, at_least(digit, 0));
    insert(result.obligations, less(digit, radices[k]));
    result.digits.push_back(std::move(digit));
  }
  if (!(position == Linear(0))) insert(result.obligations, equal(position, 0));
  std::reverse(result.digits.begin(), result.digits.end());
  return result;
}

}  // namespace

/// One walk: what does not change on the way.
struct Normalizer::Evaluation {
  Normalizer& normalizer;
  const Reader& read;
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
      const Linear counter = normalizer.counter(linear(binder.low, inner),
                                                linear(binder.high, inner), guards, symbols);
      inner.emplace_back(binder.variable, counter);
    }
    for (const ops::Constraint& constraint : constraints) insert(guards, fact(constraint, inner));
    return inner;
  }

  NormalForm sum(const ops::ExprNode& node, const Substitution& names,
                 const FactSet& context) const {
    FactSet guards;
    std::vector<Symbol> symbols;
    const Substitution inner = bind(node.binders, node.constraints, names, guards, symbols);
    NormalForm result;
    for (Term& term : evaluate(*node.arguments[0], inner, unite(context, guards))) {
      term.guards = unite(term.guards, guards);
      term.binders.insert(term.binders.end(), symbols.begin(), symbols.end());
      for (Term& part : normalizer.simplify(std::move(term), context)) {
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
      if (!normalizer.oracle().implied(context, condition)) insert(open, std::move(condition));
    }
    const FactSet inside = unite(context, open);
    if (!open.empty() && !normalizer.oracle().possible(inside)) return {};
    NormalForm result = evaluate(*node.arguments[0], names, inside);
    for (Term& term : result) term.guards = unite(term.guards, open);
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
    return normalizer.maximum(std::move(pieces), context);
  }

  NormalForm read_flat(const ops::ExprNode& node, const Substitution& names,
                       const FactSet& context) const {
    const Digits digits = digits_of(linear(node.index[0], names), shape_of(node.tensor));
    for (const Fact& obligation : digits.obligations) {
      if (!normalizer.oracle().implied(context, obligation)) {
        throw OutOfBudget{"a reshape whose digits are not known"};
      }
    }
    return read(node.tensor, digits.digits, context);
  }

  NormalForm apply(const ops::ExprNode& node, const Substitution& names,
                   const FactSet& context) const {
    std::vector<NormalForm> arguments;
    for (const ops::Expr& argument : node.arguments) {
      arguments.push_back(evaluate(*argument, names, context));
    }
    return normalizer.apply(node.function, arguments, context);
  }

  NormalForm evaluate(const ops::ExprNode& node, const Substitution& names,
                      const FactSet& context) const {
    normalizer.spend();
    switch (node.kind) {
    case ExprKind::kNumber: {
      const Fraction value(node.number.numerator, node.number.denominator);
      if (value.is_zero()) return {};
      return {Term{value, {}, {}, {}}};
    }
    case ExprKind::kIndexValue:
      return normalizer.arena().value_of(linear(node.index[0], names));
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
        for (Term& term : evaluate(*argument, names, context)) result.push_back(std::move(term));
      }
      return collected(std::move(result));
    }
    case ExprKind::kMul: {
      NormalForm result{Term{}};
      for (const ops::Expr& argument : node.arguments) {
        result = normalizer.product(result, evaluate(*argument, names, context), context);
        if (result.empty()) break;
      }
      return result;
    }
    case ExprKind::kInverse:
      return normalizer.reciprocal(evaluate(*node.arguments[0], names, context), context);
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

NormalForm Normalizer::evaluate(const ops::Expr& expression, const Substitution& names,
                                const Reader& read, const ShapeOf& shape_of,
                                const FactSet& context) {
  return Evaluation{*this, read, shape_of}.evaluate(*expression, names, context);
}

const std::vector<Linear>* Normalizer::factors_of(const Linear& size) const {
  for (const auto& [product, factors] : factorizations_) {
    if (product == size) return &factors;
  }
  return nullptr;
}

Linear Normalizer::counter(const Linear& low, const Linear& high, FactSet& ranges,
                           std::vector<Symbol>& symbols) {
  const std::vector<Linear>* factors = low == Linear(0) ? factors_of(high) : nullptr;
  const std::vector<Linear> single{high - low};
  Linear value;
  for (const Linear& radix : factors != nullptr ? *factors : single) {
    // A range of one number needs no symbol.
    if (radix == Linear(1)) continue;
    const Symbol digit = arena_.fresh();
    symbols.push_back(digit);
    insert(ranges, at_least(digit, 0));
    insert(ranges, less(digit, radix));
    value = value * radix + digit;
  }
  return value + low;
}

}  // namespace soapstone::verifier
