// Walks a comprehension and builds its normal form.
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "ops/language/rational.h"
#include "verifier/forms/small_forms.h"
#include "verifier/normal_form/normalizer.h"

namespace soapstone::verifier {
namespace {

using ops::ExprKind;
using ops::Function;

/// position = quotient · radix + rest, by the number `radix`.
std::pair<Linear, Linear> split_by_number(const Linear& position, std::int64_t radix) {
  Linear quotient;
  Linear rest;
  for (const Linear::Part& part : position.parts()) {
    const bool divisible = part.coefficient % radix == 0;
    (divisible ? quotient : rest) =
        (divisible ? quotient : rest) +
        Linear::product(part.monomial, divisible ? part.coefficient / radix : part.coefficient);
  }
  const std::int64_t constant = position.constant();
  const std::int64_t high = constant >= 0 ? constant / radix : -((-constant + radix - 1) / radix);
  return {quotient + high, rest + (constant - high * radix)};
}

/// position = quotient · radix + rest by long division: every summand of the position that is a
/// multiple of `leading`, a summand of the radix with coefficient ±1 or the only one, goes into the
/// quotient.
std::pair<Linear, Linear> split_by(const Linear& position, const Linear& radix,
                                   const Linear::Part& leading) {
  constexpr int kMaxSteps = 200;
  Linear quotient;
  Linear rest = position;
  for (int step = 0; step < kMaxSteps; ++step) {
    const auto part =
        std::find_if(rest.parts().begin(), rest.parts().end(), [&](const Linear::Part& each) {
          return each.coefficient % leading.coefficient == 0 &&
                 each.monomial.divided_by(leading.monomial);
        });
    if (part == rest.parts().end()) return {quotient, rest};
    const Linear digit = Linear::product(*part->monomial.divided_by(leading.monomial),
                                         part->coefficient / leading.coefficient);
    quotient = quotient + digit;
    rest = rest - digit * radix;
  }
  throw OutOfBudget{"a reshape by a size that is a long sum"};
}

/// All ways to split; the caller proves which of them has a rest in range.
std::vector<std::pair<Linear, Linear>> splits_by(const Linear& position, const Linear& radix) {
  if (radix.is_constant()) {
    // Nothing is at any position of an empty tensor.
    if (radix.constant() < 1) return {};
    return {split_by_number(position, radix.constant())};
  }
  std::vector<std::pair<Linear, Linear>> result;
  for (const Linear::Part& leading : radix.parts()) {
    const bool alone = radix.parts().size() == 1 && radix.constant() == 0;
    if (!alone && leading.coefficient != 1 && leading.coefficient != -1) continue;
    auto split = split_by(position, radix, leading);
    if (std::find(result.begin(), result.end(), split) == result.end()) {
      result.push_back(std::move(split));
    }
  }
  return result;
}

using InRange = std::function<bool(const Linear& digit, const Linear& radix)>;

/// The digits of `position` in these radices, least significant last; none if they are not known
/// to be in range.
std::optional<std::vector<Linear>>
digits_of(const Linear& position, std::span<const Linear> radices, const InRange& in_range) {
  std::size_t k = radices.size();
  while (k > 0 && radices[k - 1] == Linear(1)) --k;
  std::vector<Linear> tail(radices.size() - k, Linear(0));
  if (k == 0) {
    if (!(position == Linear(0))) return std::nullopt;
    return tail;
  }
  const Linear& radix = radices[k - 1];
  const bool last =
      std::all_of(radices.begin(), radices.begin() + static_cast<std::ptrdiff_t>(k) - 1,
                  [](const Linear& size) { return size == Linear(1); });
  const auto splits =
      last ? std::vector{std::pair(Linear(0), position)} : splits_by(position, radix);
  // Offsets may have canceled a multiple of the radix: the second part of a split that stands
  // elsewhere in a concatenation is at o + (i − r − o), which is i − r.
  const bool may_shift = !last && !radix.is_constant();
  for (const std::int64_t shift : {0, 1, -1, 2, -2, 3, -3}) {
    if (shift != 0 && !may_shift) break;
    for (const auto& [quotient, remainder] : splits) {
      const Linear digit = remainder - radix.scaled(shift);
      if (!in_range(digit, radix)) continue;
      auto digits = digits_of(quotient + shift, radices.first(k - 1), in_range);
      if (!digits) continue;
      digits->push_back(digit);
      digits->insert(digits->end(), tail.begin(), tail.end());
      return digits;
    }
  }
  return std::nullopt;
}

/// While it lives, what is evaluated is one branch of a choice.
class InChoice {
 public:
  InChoice(std::vector<Choice>& choices, Choice choice) : choices_(choices) {
    choices_.push_back(std::move(choice));
  }
  ~InChoice() { choices_.pop_back(); }
  InChoice(const InChoice&) = delete;
  InChoice& operator=(const InChoice&) = delete;

 private:
  std::vector<Choice>& choices_;
};

/// Whether the value depends on elements of tensors.
bool reads(const ops::ExprNode& node) {
  return node.kind == ExprKind::kRead || node.kind == ExprKind::kReadFlat ||
         std::any_of(node.arguments.begin(), node.arguments.end(),
                     [](const ops::Expr& argument) { return reads(*argument); }) ||
         std::any_of(node.alternatives.begin(), node.alternatives.end(),
                     [](const ops::Alternative& each) { return reads(*each.body); });
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
    for (Summand& summand : evaluate(*node.arguments[0], inner, unite(context, guards))) {
      summand.guards = unite(summand.guards, guards);
      summand.binders.insert(summand.binders.end(), symbols.begin(), symbols.end());
      for (Summand& part : normalizer.simplify(std::move(summand), context)) {
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
    return normalizer.maximum(std::move(pieces), context);
  }

  NormalForm read_flat(const ops::ExprNode& node, const Substitution& names,
                       const FactSet& context) const {
    const auto in_range = [&](const Linear& digit, const Linear& radix) {
      return normalizer.oracle().implied(context, at_least(digit, 0)) &&
             normalizer.oracle().implied(context, less(digit, radix));
    };
    const Linear position = normalizer.unnamed(linear(node.index[0], names));
    const std::vector<Linear> shape = shape_of(node.tensor);
    if (const auto digits = digits_of(position, shape, in_range)) {
      return read(node.tensor, *digits, context);
    }
    if (const auto digits = normalizer.name_digits(position, shape)) {
      return read(node.tensor, *digits, context);
    }
    return read_some(node.tensor, position, shape, context);
  }

  /// As a sum over all indices, of which exactly one has this position.
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
      const Symbol digit = normalizer.arena().fresh();
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
      for (Summand& part : normalizer.simplify(std::move(summand), context)) {
        result.push_back(std::move(part));
      }
    }
    return collected(std::move(result));
  }

  NormalForm apply(const ops::ExprNode& node, const Substitution& names,
                   const FactSet& context) const {
    std::vector<NormalForm> arguments;
    for (const ops::Expr& argument : node.arguments) {
      // What is chosen from may have no value where it is not chosen.
      std::optional<InChoice> choice;
      if (node.function == Function::kSelect && !arguments.empty()) {
        choice.emplace(normalizer.choices_,
                       Choice{arguments[0], arguments.size() == 1 ? Choice::Role::kFirst
                                                                  : Choice::Role::kSecond});
      }
      arguments.push_back(evaluate(*argument, names, context));
    }
    if (node.function == Function::kLog || node.function == Function::kSqrt) {
      normalizer.note_demands_of(node.function, arguments[0], context);
    } else if (node.function == Function::kPow) {
      std::optional<InChoice> choice;
      if (!as_constant(collected(arguments[1]))) {
        choice.emplace(normalizer.choices_, Choice{arguments[1], Choice::Role::kExponent});
      }
      normalizer.note_demands_of_power(arguments, context);
    }
    return normalizer.apply(node.function, arguments, context);
  }

  NormalForm reciprocal(const ops::ExprNode& node, const Substitution& names,
                        const FactSet& context) const {
    const NormalForm argument = evaluate(*node.arguments[0], names, context);
    // An operator that divides by a count of its own, as of the places under a window, has shape
    // constraints by which it counts something.
    const bool is_count = !reads(*node.arguments[0]);
    if (!is_count) normalizer.note_demands_of(Function::kPow, argument, context);
    NormalForm result = normalizer.reciprocal(argument, context);
    if (is_count) normalizer.note_counts(result);
    return result;
  }

  NormalForm evaluate(const ops::ExprNode& node, const Substitution& names,
                      const FactSet& context) const {
    normalizer.spend();
    switch (node.kind) {
    case ExprKind::kNumber:
      return normalizer.number(node.number);
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
        for (Summand& summand : evaluate(*argument, names, context))
          result.push_back(std::move(summand));
      }
      return collected(std::move(result));
    }
    case ExprKind::kMul: {
      NormalForm result{Summand{}};
      for (const ops::Expr& argument : node.arguments) {
        result = normalizer.product(result, evaluate(*argument, names, context), context);
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

NormalForm Normalizer::evaluate(const ops::Expr& expression, const Substitution& names,
                                const Reader& read, const ShapeOf& shape_of,
                                const FactSet& context) {
  return Evaluation{*this, read, shape_of}.evaluate(*expression, names, context);
}

NormalForm Normalizer::number(const ops::Rational& value) {
  const auto unknown = std::find(unknowns_.begin(), unknowns_.end(), value);
  if (unknown != unknowns_.end()) {
    const auto place = static_cast<std::uint32_t>(unknown - unknowns_.begin());
    return summand_of(arena_.read(kFirstUnknown + place, {}));
  }
  const ops::Rational canonical = ops::canonical_constant(value);
  return arena_.number(Fraction(canonical.numerator, canonical.denominator));
}

Linear Normalizer::unnamed(const Linear& position) const {
  const auto known = std::find_if(digit_names_.begin(), digit_names_.end(),
                                  [&](const DigitNames& names) { return names.sum == position; });
  return known == digit_names_.end() ? position : known->position;
}

std::optional<std::vector<Linear>> Normalizer::name_digits(const Linear& position,
                                                           const std::vector<Linear>& radices) {
  for (const DigitNames& names : digit_names_) {
    if (names.position == position && names.radices == radices) return names.digits;
  }
  std::vector<Symbol> symbols;
  position.append_symbols(symbols);
  const bool fixed = std::all_of(symbols.begin(), symbols.end(), [&](Symbol symbol) {
    return !Arena::is_variable(symbol) || has(outer_, symbol);
  });
  const bool positive = std::all_of(radices.begin(), radices.end(), [&](const Linear& radix) {
    return oracle_.implied({}, at_least(radix, 1));
  });
  if (!fixed || !positive) return std::nullopt;
  DigitNames names{position, radices, {}, 0};
  FactSet definition;
  std::vector<Symbol> defined;
  for (const Linear& radix : radices) {
    // ⌊position / …⌋ is not bounded; the digits behind it are whatever the position is.
    const bool first = names.digits.empty();
    if (radix == Linear(1) && !first) {
      names.digits.emplace_back(0);
      continue;
    }
    const Symbol digit = arena_.fresh();
    outer_.push_back(digit);
    defined.push_back(digit);
    if (!first) {
      insert(definition, at_least(digit, 0));
      insert(definition, less(digit, radix));
    }
    names.sum = names.sum * radix + digit;
    names.digits.emplace_back(digit);
  }
  insert(definition, equal(names.sum, position));
  oracle_.define(std::move(defined), std::move(definition));
  digit_names_.push_back(std::move(names));
  return digit_names_.back().digits;
}

std::vector<Linear> Normalizer::factors_of(const Linear& size) {
  for (const auto& [product, factors] : digits_.factorizations) {
    if (product == size) return factors;
  }
  constexpr std::int64_t kLargestStep = 8;
  const std::int64_t divisor = size.is_constant() ? 1 : size.common_divisor();
  if (!digits_.splits_steps || divisor < 2 || divisor > kLargestStep) return {size};
  met_expandable_ = true;
  if (!is_expanding_) return {size};
  return {size.divided(divisor), divisor};
}

Linear Normalizer::counter(const Linear& low, const Linear& high, FactSet& ranges,
                           std::vector<Symbol>& symbols) {
  const std::vector<Linear> factors = low == Linear(0) ? factors_of(high) : std::vector{high - low};
  Linear value;
  for (const Linear& radix : factors) {
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
