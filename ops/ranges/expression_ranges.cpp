// See expression_ranges.h. Every case is an upper bound: values that do not occur may be in a
// range, those that occur are.
#include "ops/ranges/expression_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace soapstone::ops {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
/// A comparison with a larger number than that is a question about overflow.
constexpr double kHuge = 0x1p100;

bool is_minus_one(const ExprNode& node) {
  return node.kind == ExprKind::kNumber && node.number == Rational{-1, 1};
}

/// The expression e of −1·e; null: it is no such product of two.
const ExprNode* negated_argument(const ExprNode& node) {
  if (node.kind != ExprKind::kMul || node.arguments.size() != 2) return nullptr;
  if (is_minus_one(*node.arguments[0])) return node.arguments[1].get();
  return is_minus_one(*node.arguments[1]) ? node.arguments[0].get() : nullptr;
}

double to_double(const Rational& number) {
  if (number.denominator == 0)
    return number.numerator == 0  ? std::numeric_limits<double>::quiet_NaN()
           : number.numerator < 0 ? -kNoLimit
                                  : kNoLimit;
  return static_cast<double>(number.numerator) / static_cast<double>(number.denominator);
}

std::optional<Symbol> bare_symbol(const Polynomial& p) {
  if (p.constant() != 0 || p.terms().size() != 1) return std::nullopt;
  const Polynomial::Term& term = p.terms()[0];
  if (term.coefficient != 1 || term.monomial.size() != 1) return std::nullopt;
  return term.monomial[0];
}

/// How many values the binders have together; infinite where a size is not known.
double count_of(const std::vector<Binder>& binders) {
  double count = 1;
  for (const Binder& binder : binders) {
    const auto length = (binder.high - binder.low).as_constant();
    count *= length ? static_cast<double>(*length) : kNoLimit;
  }
  return count;
}

bool is_only(const FloatRange& range, Specials which) {
  return !range.has_finite() && range.specials == which;
}

/// Values of one side that are all below, or all above, those of the other one.
bool are_apart(const FloatRange& a, const FloatRange& b) {
  return !a.has_finite() || !b.has_finite() || a.high < b.low || b.high < a.low;
}

/// A number of places, or a product of such numbers.
bool counts(const ExprNode& node) {
  switch (node.kind) {
  case ExprKind::kNumber:
    return node.number.denominator == 1 && node.number.numerator >= 1;
  case ExprKind::kSum:
  case ExprKind::kGuard:
  case ExprKind::kMul:
    return std::ranges::all_of(node.arguments, [](const Expr& each) { return counts(*each); });
  default:
    return false;
  }
}

bool is_huge(const FloatRange& a) { return a.is_point() && std::abs(a.low) >= kHuge; }

}  // namespace

double ordinary_magnitude(const Magnitudes& type) { return type.largest < 0x1p20 ? 0x1p7 : 0x1p30; }

ExpressionRanges::ExpressionRanges(std::vector<TensorFact> operands, InputMagnitude magnitude,
                                   const Magnitudes& type)
    : tensors_(std::move(operands)), sources_(tensors_.size()), absorbed_(tensors_.size()),
      tested_(tensors_.size()), magnitude_(magnitude), type_(type) {
  for (std::uint32_t k = 0; k < tensors_.size(); ++k) {
    const Specials specials = tensors_[k].range.specials;
    if ((specials & kNan) != 0) sources_[k].of_nan.insert(k);
    if ((specials & kInfinities) != 0) sources_[k].of_infinity.insert(k);
  }
}

void ExpressionRanges::note(std::vector<Specials>& noted, const ExpressionFact& argument,
                            Specials which) {
  const Specials met = argument.range.specials & which;
  if ((met & kNan) != 0)
    for (const std::uint32_t k : argument.sources.of_nan) noted[k] |= tensors_[k].range.specials;
  if ((met & kInfinities) != 0)
    for (const std::uint32_t k : argument.sources.of_infinity)
      noted[k] |= tensors_[k].range.specials & kInfinities;
}

void ExpressionRanges::absorb(const ExpressionFact& argument, Specials which) {
  note(absorbed_, argument, which);
}

ExpressionFact ExpressionRanges::made_of(const FloatRange& range,
                                         std::initializer_list<const SpecialSources*> arguments) {
  ExpressionFact fact{.range = range};
  for (const SpecialSources* const sources : arguments) {
    const auto& [of_nan, of_infinity] = *sources;
    if ((range.specials & kInfinities) != 0)
      fact.sources.of_infinity.insert(of_infinity.begin(), of_infinity.end());
    if ((range.specials & kNan) == 0) continue;
    fact.sources.of_nan.insert(of_nan.begin(), of_nan.end());
    fact.sources.of_nan.insert(of_infinity.begin(), of_infinity.end());
  }
  return fact;
}

bool ExpressionRanges::are_equal(const ExprNode& a, const ExprNode& b) const {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.number != b.number || a.index != b.index ||
      a.arguments.size() != b.arguments.size())
    return false;
  switch (a.kind) {
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return tensors_[a.tensor].number == tensors_[b.tensor].number;
  case ExprKind::kGuard:
  case ExprKind::kSum:
  case ExprKind::kMax:
    return false;  // Binders have names of their own.
  case ExprKind::kApply:
    if (a.function != b.function) return false;
    break;
  default:
    break;
  }
  return std::ranges::equal(a.arguments, b.arguments,
                            [&](const Expr& x, const Expr& y) { return are_equal(*x, *y); });
}

ExpressionFact ExpressionRanges::value(const ExprNode& node) {
  switch (node.kind) {
  case ExprKind::kNumber:
    return {.range = point(to_double(node.number))};
  case ExprKind::kIndexValue:
    return {.range = {-0x1p63, 0x1p63}};
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return element(node);
  case ExprKind::kAdd:
    return sum(node);
  case ExprKind::kMul:
    return product(node);
  case ExprKind::kInverse: {
    ExpressionFact argument = value(*node.arguments[0]);
    // A number of elements that follows from the shape alone: a mean over nothing has no shape.
    if (counts(*node.arguments[0])) argument.range.low = std::max(argument.range.low, 1.0);
    absorb(argument, kInfinities);
    return made_of(rounded(ordinary(inverse_of(argument.range, type_))), {&argument.sources});
  }
  case ExprKind::kApply:
    return applied(node);
  case ExprKind::kGuard:
    return guarded(node);
  case ExprKind::kSum:
    return total(node);
  case ExprKind::kMax:
    return largest(node);
  }
  CHECK(false, "unreachable");
}

ExpressionFact ExpressionRanges::element(const ExprNode& node) {
  const TensorFact& tensor = tensors_[node.tensor];
  ExpressionFact fact{.range = tensor.range, .sources = sources_[node.tensor]};
  if (node.kind == ExprKind::kReadFlat) return fact;
  fact.element = ElementPlace{tensor.number, node.index};
  if (tensor.magnitude_of) fact.magnitude_of = ElementPlace{*tensor.magnitude_of, node.index};
  for (const TensorFact::Test& test : tensor.tests)
    fact.tests.push_back({{test.of, node.index}, test.excluded_if_true, test.excluded_if_false});
  for (const std::size_t d : tensor.attained) {
    const auto symbol = bare_symbol(node.index[d]);
    if (!symbol) return fact.attained.clear(), fact;
    fact.attained.emplace_back(*symbol, tensor.shape[d]);
  }
  return fact;
}

bool ExpressionRanges::is_reduction(const ExprNode& x, const ExprNode& reduced,
                                    TensorFact::Reduction::Kind kind,
                                    std::vector<std::pair<Symbol, Polynomial>>* along) const {
  if (x.kind != ExprKind::kRead || reduced.kind != ExprKind::kRead) return false;
  const TensorFact &tensor = tensors_[x.tensor], &result = tensors_[reduced.tensor];
  if (!result.reduction || result.reduction->kind != kind || result.reduction->of != tensor.number)
    return false;
  for (std::size_t d = 0; d < x.index.size(); ++d) {
    const bool is_single = tensor.shape[d] == Polynomial(1);
    if (const auto position = result.reduction->positions[d]) {
      if (reduced.index[*position] != x.index[d] && !is_single) return false;
    } else if (const auto symbol = bare_symbol(x.index[d])) {
      if (along != nullptr) along->emplace_back(*symbol, tensor.shape[d]);
    } else if (!is_single) {
      return false;
    }
  }
  return true;
}

std::optional<ExpressionFact> ExpressionRanges::centered(const ExprNode& x,
                                                         const ExprNode& subtracted) {
  const ExprNode* const maximum = negated_argument(subtracted);
  std::vector<std::pair<Symbol, Polynomial>> along;
  if (maximum == nullptr ||
      !is_reduction(x, *maximum, TensorFact::Reduction::Kind::kMaximum, &along))
    return std::nullopt;
  ExpressionFact fact = element(x), largest = element(*maximum);
  FloatRange range = sum_of(fact.range, negated(largest.range));
  // x ≤ max x. The difference is 0 where the maximum stands, and NaN there if that is not finite.
  range.high = std::min(range.high, 0.0);
  range.specials &= static_cast<Specials>(~kPositiveInfinity);
  ExpressionFact result = made_of(rounded(range), {&fact.sources, &largest.sources});
  result.attained = std::move(along);
  return result;
}

std::optional<ExpressionFact> ExpressionRanges::share(const ExprNode& x, const ExprNode& inverse) {
  if (inverse.kind != ExprKind::kInverse ||
      !is_reduction(x, *inverse.arguments[0], TensorFact::Reduction::Kind::kSum))
    return std::nullopt;
  ExpressionFact fact = element(x), all = element(*inverse.arguments[0]);
  if (!fact.range.has_finite() || fact.range.low < 0) return std::nullopt;
  absorb(all, kInfinities);
  Specials specials = (fact.range.specials | all.range.specials) & kNan;
  // 0/0, and ∞/∞.
  if (fact.range.specials != 0 || all.range.may_be_zero() || all.range.specials != 0)
    specials |= kNan;
  return made_of({0, 1, specials}, {&fact.sources, &all.sources});
}

/// With ordinary inputs, what is summed up or divided by something that is never 0 is ordinary.
FloatRange ExpressionRanges::ordinary(const FloatRange& range) const {
  if (magnitude_ != InputMagnitude::kOrdinary || !range.has_finite()) return range;
  const double most = ordinary_magnitude(type_);
  return {std::clamp(range.low, -most, most), std::clamp(range.high, -most, most), range.specials};
}

ExpressionFact ExpressionRanges::sum(const ExprNode& node) {
  std::vector<const ExprNode*> terms;
  for (const Expr& argument : node.arguments) terms.push_back(argument.get());
  std::optional<ExpressionFact> all;
  const auto add = [&](ExpressionFact term) {
    if (!all) return void(all = std::move(term));
    all = made_of(rounded(sum_of(all->range, term.range)), {&all->sources, &term.sources});
  };
  // Pairs first: x − max x, and x − x.
  for (std::size_t k = 0; k < terms.size(); ++k) {
    for (std::size_t j = 0; j < terms.size() && terms[k] != nullptr; ++j) {
      if (j == k || terms[j] == nullptr) continue;
      const ExprNode* const opposite = negated_argument(*terms[j]);
      if (opposite == nullptr) continue;
      if (are_equal(*terms[k], *opposite)) {
        ExpressionFact term = value(*terms[k]);
        FloatRange range = term.range.has_finite() ? point(0) : no_values();
        if (term.range.specials != 0) range.specials = kNan;
        add(made_of(range, {&term.sources}));
      } else if (auto difference = centered(*terms[k], *terms[j])) {
        add(*std::move(difference));
      } else {
        continue;
      }
      terms[k] = terms[j] = nullptr;
    }
  }
  // 1 − t of a truth value says the opposite.
  if (terms.size() == 2 && terms[0] != nullptr && terms[1] != nullptr) {
    const ExprNode* const opposite = negated_argument(*terms[1]);
    if (opposite != nullptr && terms[0]->kind == ExprKind::kNumber &&
        terms[0]->number == Rational{1, 1}) {
      ExpressionFact truth = value(*opposite);
      ExpressionFact fact =
          made_of(rounded(sum_of(point(1), negated(truth.range))), {&truth.sources});
      for (ExpressionFact::Test& test : truth.tests) {
        std::swap(test.excluded_if_true, test.excluded_if_false);
        fact.tests.push_back(std::move(test));
      }
      return fact;
    }
  }
  for (const ExprNode* const term : terms)
    if (term != nullptr) add(value(*term));
  return all ? *std::move(all) : ExpressionFact{.range = point(0)};
}

ExpressionFact ExpressionRanges::product(const ExprNode& node) {
  std::vector<const ExprNode*> factors;
  for (const Expr& argument : node.arguments) factors.push_back(argument.get());
  std::optional<ExpressionFact> all;
  const bool is_conjunction = factors.size() == 2;
  const auto multiply = [&](ExpressionFact factor) {
    if (!all) return void(all = std::move(factor));
    ExpressionFact next =
        made_of(rounded(product_of(all->range, factor.range)), {&all->sources, &factor.sources});
    // Both of two truth values hold where their product does.
    for (const std::vector<ExpressionFact::Test>* tests : {&all->tests, &factor.tests})
      for (const ExpressionFact::Test& test : *tests)
        if (is_conjunction && test.excluded_if_true != 0)
          next.tests.push_back({test.of, test.excluded_if_true, 0});
    all = std::move(next);
  };
  if (const ExprNode* const argument = negated_argument(node)) {
    ExpressionFact fact = value(*argument);
    return made_of(negated(fact.range), {&fact.sources});
  }
  for (std::size_t k = 0; k < factors.size(); ++k) {
    for (std::size_t j = 0; j < factors.size() && factors[k] != nullptr; ++j) {
      if (factors[j] == nullptr || j == k) continue;
      if (auto part = share(*factors[k], *factors[j])) {
        multiply(*std::move(part));
        factors[k] = factors[j] = nullptr;
      }
    }
  }
  bool divides = false;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    if (factors[k] == nullptr) continue;
    divides = divides || factors[k]->kind == ExprKind::kInverse;
    ExpressionFact factor = value(*factors[k]);
    const auto twin = std::find_if(
        factors.begin() + static_cast<std::ptrdiff_t>(k) + 1, factors.end(),
        [&](const ExprNode* other) { return other != nullptr && are_equal(*factors[k], *other); });
    if (twin != factors.end()) {
      *twin = nullptr;
      factor = made_of(rounded(square_of(factor.range)), {&factor.sources});
    }
    multiply(std::move(factor));
  }
  if (divides) all->range = ordinary(all->range);
  return *std::move(all);
}

ExpressionFact ExpressionRanges::guarded(const ExprNode& node) {
  ExpressionFact body = value(*node.arguments[0]);
  return made_of(join(body.range, point(0)), {&body.sources});
}

ExpressionFact ExpressionRanges::total(const ExprNode& node) {
  ExpressionFact body = value(*node.arguments[0]);
  const double most = count_of(node.binders);
  const double fewest = !node.constraints.empty() ? 0 : std::isinf(most) ? 1 : most;
  FloatRange range = repeated_sum(body.range, fewest, most);
  const bool reaches = !body.attained.empty() && node.constraints.empty() && body.range.low >= 0 &&
                       std::ranges::all_of(body.attained, [&](const auto& reached) {
                         return std::ranges::any_of(node.binders, [&](const Binder& binder) {
                           return binder.variable == reached.first && binder.low == Polynomial(0) &&
                                  binder.high == reached.second;
                         });
                       });
  if (reaches) range.low = std::max(range.low, body.range.high);
  if (most > 1) range = ordinary(range);
  return made_of(rounded(range), {&body.sources});
}

ExpressionFact ExpressionRanges::largest(const ExprNode& node) {
  ExpressionFact fact{.range = no_values()};
  std::optional<FloatRange> certain;  // The largest of what is always there.
  std::vector<FloatRange> possible;
  const bool has_rivals = node.alternatives.size() > 1 || !node.alternatives[0].binders.empty();
  for (const Alternative& alternative : node.alternatives) {
    ExpressionFact body = value(*alternative.body);
    if (has_rivals) absorb(body, kNegativeInfinity);
    // Neither of two truth values holds where their maximum does not.
    for (const ExpressionFact::Test& test : body.tests)
      if (test.excluded_if_false != 0) fact.tests.push_back({test.of, 0, test.excluded_if_false});
    if (!alternative.constraints.empty()) {
      possible.push_back(body.range);
    } else {
      certain = certain ? larger_of(*certain, body.range) : body.range;
    }
    fact.sources.of_nan.merge(body.sources.of_nan);
    fact.sources.of_infinity.merge(body.sources.of_infinity);
  }
  if (certain) fact.range = *certain;
  for (const FloatRange& range : possible)
    fact.range = join(fact.range, certain ? larger_of(*certain, range) : range);
  return fact;
}

ExpressionFact ExpressionRanges::applied(const ExprNode& node) {
  std::vector<ExpressionFact> arguments;
  arguments.reserve(node.arguments.size());
  for (const Expr& argument : node.arguments) arguments.push_back(value(*argument));
  if (node.function == Function::kSelect) return chosen(std::move(arguments));
  std::vector<FloatRange> ranges;
  for (const ExpressionFact& argument : arguments) ranges.push_back(argument.range);
  for (std::size_t k = 0; k < arguments.size(); ++k)
    absorb(arguments[k], absorbed_by(node.function, k, ranges));
  ExpressionFact fact;
  switch (node.function) {
  case Function::kLess:
  case Function::kLessOrEqual:
  case Function::kEqual:
    return compared(node.function, arguments);
  case Function::kIsNan:
  case Function::kIsInfinite:
    return asked(node.function, arguments[0]);
  case Function::kIsZero:
    for (ExpressionFact::Test& test : arguments[0].tests) {
      std::swap(test.excluded_if_true, test.excluded_if_false);
      fact.tests.push_back(std::move(test));
    }
    break;
  case Function::kAbs:
    fact.magnitude_of = arguments[0].element;
    break;
  case Function::kExp:
  case Function::kRelu:
    fact.attained = arguments[0].attained;
    break;
  default:
    break;
  }
  fact.range = rounded(image_of(node.function, ranges));
  for (const ExpressionFact& argument : arguments) {
    ExpressionFact part = made_of(fact.range, {&argument.sources});
    fact.sources.of_nan.merge(part.sources.of_nan);
    fact.sources.of_infinity.merge(part.sources.of_infinity);
  }
  return fact;
}

/// A choice by a condition that says something of what is chosen.
ExpressionFact ExpressionRanges::chosen(std::vector<ExpressionFact> arguments) {
  absorb(arguments[0], kAllSpecials);
  ExpressionFact fact{.range = no_values()};
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    ExpressionFact& branch = arguments[k];
    absorb(branch, kAllSpecials);
    for (const ExpressionFact::Test& test : arguments[0].tests) {
      const Specials excluded = k == 1 ? test.excluded_if_true : test.excluded_if_false;
      if (branch.element && *branch.element == test.of)
        branch.range.specials &= static_cast<Specials>(~excluded);
    }
    fact.range = join(fact.range, branch.range);
    ExpressionFact part = made_of(branch.range, {&branch.sources});
    fact.sources.of_nan.merge(part.sources.of_nan);
    fact.sources.of_infinity.merge(part.sources.of_infinity);
  }
  return fact;
}

ExpressionFact ExpressionRanges::compared(Function function,
                                          const std::vector<ExpressionFact>& arguments) {
  const ExpressionFact &a = arguments[0], &b = arguments[1];
  ExpressionFact fact{.range = {0, 1}};
  const bool is_same = a.element && b.element && *a.element == *b.element;
  const auto exclude = [&](const ExpressionFact& side, Specials if_true, Specials if_false) {
    if (side.element) fact.tests.push_back({*side.element, if_true, if_false});
    if (!side.magnitude_of) return;
    const auto of_both = [](Specials of_magnitude) {
      return static_cast<Specials>((of_magnitude & kNan) |
                                   ((of_magnitude & kPositiveInfinity) != 0 ? kInfinities : 0));
    };
    fact.tests.push_back({*side.magnitude_of, of_both(if_true), of_both(if_false)});
  };
  const bool is_equality = function == Function::kEqual;
  if (is_same) {
    exclude(a, function == Function::kLess ? kAllSpecials : kNan, 0);
  } else if (is_equality) {
    for (const auto& [side, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (is_only(other->range, kPositiveInfinity)) {
        exclude(*side, kNan | kNegativeInfinity, kPositiveInfinity);
      } else if (is_only(other->range, kNegativeInfinity)) {
        exclude(*side, kNan | kPositiveInfinity, kNegativeInfinity);
      } else if (other->range.specials == 0) {
        exclude(*side, kAllSpecials, 0);
      }
    }
  } else {
    exclude(a, kNan | ((b.range.specials & kPositiveInfinity) == 0 ? kPositiveInfinity : 0), 0);
    exclude(b, kNan | ((a.range.specials & kNegativeInfinity) == 0 ? kNegativeInfinity : 0), 0);
  }
  const bool is_decided = is_same || are_apart(a.range, b.range) ||
                          (is_equality && a.range.low == a.range.high &&
                           b.range.low == b.range.high && a.range.low == b.range.low) ||
                          is_huge(a.range) || is_huge(b.range);
  if (is_decided)
    for (const ExpressionFact* side : {&a, &b}) note(tested_, *side, kAllSpecials);
  return fact;
}

/// Whether the argument is NaN, or infinite.
ExpressionFact ExpressionRanges::asked(Function function, const ExpressionFact& argument) {
  note(tested_, argument, kAllSpecials);
  ExpressionFact fact{.range = {0, 1}};
  if (!argument.element) return fact;
  const bool is_nan = function == Function::kIsNan;
  fact.tests.push_back(
      {*argument.element, is_nan ? kInfinities : kNan, is_nan ? kNan : kInfinities});
  return fact;
}

std::optional<TensorFact::Reduction> ExpressionRanges::reduction_of(const Stage& stage) const {
  using Kind = TensorFact::Reduction::Kind;
  const ExprNode& body = *stage.body;
  const bool is_maximum = body.kind == ExprKind::kMax && body.alternatives.size() == 1;
  if (!is_maximum && body.kind != ExprKind::kSum) return std::nullopt;
  const auto& binders = is_maximum ? body.alternatives[0].binders : body.binders;
  const auto& constraints = is_maximum ? body.alternatives[0].constraints : body.constraints;
  const ExprNode& x = is_maximum ? *body.alternatives[0].body : *body.arguments[0];
  if (x.kind != ExprKind::kRead || !constraints.empty()) return std::nullopt;
  const TensorFact& tensor = tensors_[x.tensor];
  TensorFact::Reduction reduction{is_maximum ? Kind::kMaximum : Kind::kSum, tensor.number, {}};
  for (std::size_t d = 0; d < x.index.size(); ++d) {
    const auto symbol = bare_symbol(x.index[d]);
    const auto place = symbol ? std::ranges::find(stage.index, *symbol) : stage.index.end();
    if (place != stage.index.end()) {
      reduction.positions.emplace_back(static_cast<std::size_t>(place - stage.index.begin()));
      continue;
    }
    const bool is_whole = symbol && std::ranges::any_of(binders, [&](const Binder& binder) {
                            return binder.variable == *symbol && binder.low == Polynomial(0) &&
                                   binder.high == tensor.shape[d];
                          });
    if (!is_whole) return std::nullopt;
    reduction.positions.emplace_back(std::nullopt);
  }
  return reduction;
}

void ExpressionRanges::add_stage(const Stage& stage, TensorNumber number) {
  ExpressionFact body = value(*stage.body);
  TensorFact fact{.range = body.range, .number = number, .shape = stage.shape};
  fact.reduction = reduction_of(stage);
  const auto is_own_index = [&](const ElementPlace& place) {
    return std::ranges::equal(place.index, stage.index, [](const Polynomial& p, Symbol symbol) {
      return p == Polynomial(symbol);
    });
  };
  for (const ExpressionFact::Test& test : body.tests)
    if (is_own_index(test.of))
      fact.tests.push_back({test.of.tensor, test.excluded_if_true, test.excluded_if_false});
  if (body.magnitude_of && is_own_index(*body.magnitude_of))
    fact.magnitude_of = body.magnitude_of->tensor;
  for (const auto& [symbol, extent] : body.attained) {
    const auto place = std::ranges::find(stage.index, symbol);
    if (place == stage.index.end()) {
      fact.attained.clear();
      break;
    }
    fact.attained.push_back(static_cast<std::size_t>(place - stage.index.begin()));
  }
  tensors_.push_back(std::move(fact));
  sources_.push_back(made_of(tensors_.back().range, {&body.sources}).sources);
}

}  // namespace soapstone::ops
