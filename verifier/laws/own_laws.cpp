// Laws of one function each, as function_laws.h lists them: comparisons, select, relu, |x|, √x,
// x^k.
#include "verifier/laws/function_laws.h"

#include <algorithm>
#include <utility>

#include "verifier/algebra/open_piece.h"
#include "verifier/forms/common_factors.h"
#include "verifier/forms/small_forms.h"
#include "verifier/laws/maxima.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

bool is_truth_value(Function function) {
  return function == Function::kLess || function == Function::kEqual ||
         function == Function::kIsZero;
}

constexpr std::int64_t kLargestWrittenPower = 8;

}  // namespace

/// Comparisons of integers are guards. A number that is 0 or 1 is 0 where it is not 1.
FunctionLaws::Result FunctionLaws::decided(Function function,
                                           const std::vector<NormalForm>& arguments,
                                           const FactSet& context) {
  if (!is_truth_value(function)) return std::nullopt;
  if (function == Function::kIsZero) {
    const Factor* read = only_factor(arguments[0], AtomKind::kRead);
    if (read != nullptr && arguments[0][0].coefficient == Fraction(1) &&
        ranges_.is_boolean(*read->atom)) {
      return sum_of(constant(1), negated(arguments[0]));
    }
  }
  const auto x = as_integer(arguments[0]);
  const auto y = arguments.size() == 2 ? as_integer(arguments[1]) : Linear(0);
  if (!x || !y) return std::nullopt;
  Summand where;
  where.guards = {function == Function::kLess ? less(*x, *y) : equal(*x, *y)};
  return simplifier_.simplify(std::move(where), context);
}

/// For numbers, a + c < b + c is a < b, as are r·a < r·b for r > 0 and exp(a) < exp(b), and a − c <
/// b is a < b + c. The same for equality.
FunctionLaws::Result FunctionLaws::compared(Function function,
                                            const std::vector<NormalForm>& arguments,
                                            const FactSet& context) {
  NormalForm difference = sum_of(arguments[0], negated(arguments[1]));
  if (difference.empty()) return constant(function == Function::kEqual ? 1 : 0);
  take_common(difference, [&](const Factor& factor) {
    return signs_.is_positive(Summand{1, {}, {}, {factor}}, context);
  });
  const Fraction scale = difference[0].coefficient.magnitude();
  const auto has_scale = [&](const Summand& s) { return s.coefficient.magnitude() == scale; };
  if (std::ranges::all_of(difference, has_scale))
    difference = scaled(std::move(difference), scale.inverse());
  NormalForm larger, smaller;
  for (const Summand& summand : difference)
    (summand.coefficient.sign() > 0 ? larger : smaller).push_back(summand);
  smaller = negated(std::move(smaller));
  const auto a = exponentials_.exponent_of(larger), b = exponentials_.exponent_of(smaller);
  const std::vector<NormalForm> sides = a && b ? std::vector{*a, *b} : std::vector{larger, smaller};
  if (sides == arguments) return std::nullopt;
  return apply_to_whole(function, sides, context);
}

/// With z = [c is 0], select(c, a, b) = a + z·(b − a).
NormalForm FunctionLaws::select(const std::vector<NormalForm>& arguments, const FactSet& context) {
  const NormalForm& condition = arguments[0];
  const Factor* factor = only_factor(condition, AtomKind::kApply);
  NormalForm is_zero;
  if (factor != nullptr && condition[0].coefficient == Fraction(1) &&
      is_truth_value(factor->atom->function)) {
    is_zero = sum_of(constant(1), negated(condition));
  } else {
    is_zero = apply_to_whole(Function::kIsZero, {condition}, context);
  }
  const NormalForm difference = sum_of(arguments[2], negated(arguments[1]));
  return sum_of(arguments[1], simplifier_.product(is_zero, difference, context));
}

/// |x| = x for x ≥ 0, and else what is known of products.
FunctionLaws::Result FunctionLaws::magnitude(const NormalForm& x, const FactSet& context) {
  if (signs_.non_negative(x, context)) return x;
  if (auto product = roots_.magnitude_of_product(x, context)) return product;
  return homogeneous(Function::kAbs, x, context);
}

FunctionLaws::Result FunctionLaws::root(const NormalForm& x, const FactSet& context) const {
  if (auto root = roots_.root_of_product(x, context)) return root;
  return roots_.root_of_scaled(x);
}

/// x^k for a small integer k; x^½ is a root.
FunctionLaws::Result FunctionLaws::small_power(const std::vector<NormalForm>& arguments,
                                               const FactSet& context) {
  const auto exponent = as_constant(arguments[1]);
  if (!exponent) return std::nullopt;
  if (exponent->denominator() == 2) {
    const NormalForm root = apply_to_whole(Function::kSqrt, {arguments[0]}, context);
    return small_power({root, constant(*exponent * Fraction(2))}, context);
  }
  if (!exponent->is_integer() || exponent->magnitude() > Fraction(kLargestWrittenPower)) {
    return std::nullopt;
  }
  NormalForm result = constant(1);
  for (std::int64_t k = exponent->magnitude().numerator(); k > 0; --k) {
    result = simplifier_.product(result, arguments[0], context);
  }
  if (exponent->sign() >= 0) return result;
  return simplifier_.reciprocal(result, context);
}

NormalForm FunctionLaws::relu_of_whole(const NormalForm& form, const FactSet& context) {
  if (form.empty() || signs_.non_negative(form, context)) return form;
  if (signs_.non_negative(negated(form), context)) return {};
  // relu(c·max(…)) = c·max(…, 0) for c > 0
  if (const Factor* factor = only_factor(form, AtomKind::kMax)) {
    std::vector<OpenPiece> pieces = open_pieces(proof_.arena, *factor->atom);
    pieces.push_back({});
    return scaled(maxima_.maximum(std::move(pieces), context), form[0].coefficient);
  }
  // relu(c·a·x) = c·a·relu(x) for c, a ≥ 0
  NormalForm inside = form;
  Summand outside;
  outside.factors = take_common(
      inside, [&](const Factor& factor) { return signs_.non_negative(factor, context); });
  outside.coefficient = leading_coefficient(proof_.arena, inside).magnitude();
  if (outside.coefficient != Fraction(1) || !outside.factors.empty()) {
    inside = scaled(std::move(inside), outside.coefficient.inverse());
    return simplifier_.product({outside}, relu_of_whole(inside, context), context);
  }
  if (auto product = homogeneous(Function::kRelu, form, context)) return *std::move(product);
  return summand_of(proof_.arena.apply(Function::kRelu, {proof_.arena.form(form)}));
}

/// f(r·x) = r·f(x) for the parts r of a product, sums of their own among them, that are never
/// negative.
FunctionLaws::Result FunctionLaws::without_parts(Function function, const Summand& product,
                                                 const FactSet& context) {
  Summand outside;
  Summand inside{product.coefficient, {}, {}, {}};
  for (const Fact& fact : product.guards) {
    if (!fact.mentions_any(product.binders)) insert(inside.guards, fact);
  }
  for (const Summand& part : components(product)) {
    Summand& whole = signs_.non_negative(NormalForm{part}, context) ? outside : inside;
    whole.guards = unite(whole.guards, part.guards);
    whole.binders.insert(whole.binders.end(), part.binders.begin(), part.binders.end());
    whole.factors.insert(whole.factors.end(), part.factors.begin(), part.factors.end());
  }
  if (outside.factors.empty() && outside.binders.empty()) return std::nullopt;
  for (Summand* each : {&outside, &inside}) each->factors = Arena::product(each->factors);
  return simplifier_.product({outside}, apply_to_whole(function, {{inside}}, context), context);
}

/// f(r·x) = r·f(x) for r ≥ 0 and such functions: relu and |x|. Where all summands share x, what is
/// left is r or −r if it has one sign.
FunctionLaws::Result FunctionLaws::homogeneous(Function function, const NormalForm& form,
                                               const FactSet& context) {
  if (form.size() == 1) {
    if (auto product = without_parts(function, form[0], context)) return product;
  }
  NormalForm rest = form;
  Summand common;
  common.factors =
      take_common(rest, [](const Factor& factor) { return factor.exponent.is_integer(); });
  if (common.factors.empty() || (rest.size() == 1 && rest[0].factors.empty())) return std::nullopt;
  const int sign = signs_.non_negative(rest, context)            ? 1
                   : signs_.non_negative(negated(rest), context) ? -1
                                                                 : 0;
  if (sign == 0) return std::nullopt;
  return simplifier_.product(scaled(std::move(rest), sign),
                             apply_to_whole(function, {scaled({common}, sign)}, context), context);
}

}  // namespace soapstone::verifier
