// One walk through both comprehensions. Stages are looked through: a read of a stage is its body at
// that index. Index expressions of both are polynomials in the digits of the part's index.
#include "ops/restriction/part_comparison.h"

#include <algorithm>

#include "ops/language/rational.h"
#include "ops/restriction/equal_places.h"
#include "ops/restriction/expression_views.h"

namespace soapstone::ops::partition {
namespace {

using analysis::Ranges;
using Environment = std::map<Symbol, Polynomial>;
using Constraints = std::vector<Constraint>;
struct Equations {
  std::vector<Polynomial> of_reads, of_conditions;
};

class Comparison {
 public:
  /// `equations`: takes down what unknowns must satisfy instead of refusing; null: there are none.
  Comparison(const PartProblem& problem, const Semantics& part, const Solution& known,
             Equations* equations)
      : problem_(problem), space_(problem.whole), whole_(space_.semantics()), part_(part),
        known_(known), equations_(equations) {}

  std::optional<PartResult> run() {
    if (whole_.outputs.size() != part_.outputs.size()) return std::nullopt;
    if (!equations_ && !requires_no_more()) return std::nullopt;
    PartResult result;
    for (std::size_t k = 0; k < whole_.outputs.size(); ++k) {
      begin_output(k);
      const ExprNode& a = body(whole_, whole_.outputs[k]);
      const ExprNode& b = body(part_, part_.outputs[k]);
      std::int64_t shift = 0;
      Ratio factor = kOne;
      if (a.kind == ExprKind::kIndexValue && b.kind == a.kind) {
        const Polynomial difference = of_whole(a.index[0]) - of_part(b.index[0]);
        if (difference.is_constant())
          shift = difference.constant();
        else
          factor = equal(difference, 0) ? factor : std::nullopt;
      } else {
        factor = compare(a, b);
      }
      if (!factor) return std::nullopt;
      result.factors.push_back(*factor);
      result.shifts.push_back(shift);
    }
    return result;
  }

 private:
  static const ExprNode& body(const Semantics& semantics, std::uint32_t tensor) {
    return *semantics.stages[tensor - semantics.input_count].body;
  }

  /// Whether all data that the whole admits is admitted by the part. Its requirements read the same
  /// elements, so bounds are left to compare.
  bool requires_no_more() const {
    if (whole_.requirements.size() != part_.requirements.size()) return false;
    for (std::size_t k = 0; k < part_.requirements.size(); ++k) {
      const Requirement &a = whole_.requirements[k], &b = part_.requirements[k];
      const auto below = (a.low - b.low).as_constant(), above = (b.high - a.high).as_constant();
      if (!below || !above || *below < 0 || *above < 0) return false;
    }
    return true;
  }

  void begin_output(std::size_t k) {
    whole_values_.clear();
    part_values_.clear();
    ranges_.clear();
    const std::uint32_t tensor = whole_.outputs[k];
    const Stage& stage = part_.stages[part_.outputs[k] - part_.input_count];
    const auto index = space_.index_of(tensor);
    const auto digits = space_.digits_of(tensor);
    for (std::size_t d = 0; d < stage.index.size(); ++d)
      part_values_[stage.index[d]] = problem_.begins[k][d];
    for (std::size_t j = index.size(); j-- > 0;) {
      Polynomial& position = part_values_[stage.index[digits[j].dim]];
      std::int64_t stride = 1;
      for (std::size_t inner = j + 1; inner < index.size(); ++inner)
        if (digits[inner].dim == digits[j].dim) stride *= ranges_.at(index[inner]).high;
      bind(index[j], digits[j].size);
      position += Polynomial(index[j]) * Polynomial(stride);
    }
  }

  /// The whole's digit as the part's and where the part begins. Returns the digit's size there.
  std::int64_t bind(Symbol digit, std::int64_t size) {
    const auto found = problem_.cut.find(digit);
    const Interval values = found == problem_.cut.end() ? Interval{0, size} : found->second;
    whole_values_[digit] = Polynomial(digit) + Polynomial(values.low);
    ranges_[digit] = {0, values.high - values.low};
    return values.high - values.low;
  }

  Polynomial finished(const Polynomial& p) const {
    return with_solution(p, known_).substitute([&](Symbol s) -> std::optional<Polynomial> {
      if (is_unknown(s) && !equations_) return Polynomial(0);  // nothing depends on it
      const auto range = ranges_.find(s);
      if (range == ranges_.end() || range->second.high - range->second.low != 1)
        return std::nullopt;
      return Polynomial(range->second.low);
    });
  }

  Polynomial of(const Polynomial& p, const Environment& values) const {
    return finished(p.substitute([&](Symbol symbol) -> std::optional<Polynomial> {
      const auto found = values.find(symbol);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    }));
  }
  Polynomial of_whole(const Polynomial& p) const { return of(space_.substitute(p), whole_values_); }
  Polynomial of_part(const Polynomial& p) const { return of(p, part_values_); }

  bool equal(const Polynomial& a, const Polynomial& b) {
    const Polynomial difference = a - b;
    if (difference == Polynomial(0)) return true;
    if (!equations_) return false;
    take_down(difference, equations_->of_reads);
    return true;
  }

  static void take_down(const Polynomial& difference, std::vector<Polynomial>& equations) {
    if (std::ranges::all_of(difference.symbols(), is_unknown)) equations.push_back(difference);
  }

  // --- Expressions ------------------------------------------------------------------------------

  Ratio compare(const ExprNode& a, const ExprNode& b) {
    if (is_read(a) && a.tensor >= whole_.input_count) return through_whole(a, b);
    if (is_read(b) && b.tensor >= part_.input_count) return through_part(a, b);
    if (is_sum_or_guard(a) || is_sum_or_guard(b)) return compare_bound(bound_of(a), bound_of(b));
    if (a.kind == ExprKind::kAdd || b.kind == ExprKind::kAdd) return compare_terms(a, b);
    if (a.kind == ExprKind::kMul || b.kind == ExprKind::kMul || is_number(a) || is_number(b))
      return compare_factors(a, b);
    if (is_read(a) && is_read(b)) return compare_reads(a, b) ? Ratio(kOne) : std::nullopt;
    if (a.kind != b.kind) return std::nullopt;
    switch (a.kind) {
    case ExprKind::kIndexValue:
      return equal(of_whole(a.index[0]), of_part(b.index[0])) ? Ratio(kOne) : std::nullopt;
    case ExprKind::kInverse: {
      const Ratio inner = compare(*a.arguments[0], *b.arguments[0]);
      return inner ? quotient(kOne, *inner) : std::nullopt;
    }
    case ExprKind::kApply:
      for (std::size_t k = 0; k < a.arguments.size() && a.function == b.function; ++k)
        if (compare(*a.arguments[k], *b.arguments[k]) != kOne) return std::nullopt;
      return a.function == b.function ? Ratio(kOne) : std::nullopt;
    case ExprKind::kMax:
      return compare_maxima(a, b);
    default:
      return std::nullopt;
    }
  }

  Ratio through_whole(const ExprNode& a, const ExprNode& b) {
    std::vector<Polynomial> index;
    for (const Polynomial& p : a.index) index.push_back(of_whole(p));
    core::Dims radices;
    std::vector<std::size_t> dims;
    for (const DimDigit& d : space_.digits_of(a.tensor)) {
      radices.push_back(d.size);
      dims.push_back(d.dim);
    }
    const auto digits =
        digits_of_index(index, radices, dims, a.kind == ExprKind::kReadFlat, ranges_);
    if (!digits) return std::nullopt;
    const Environment outer = whole_values_;
    const auto symbols = space_.index_of(a.tensor);
    for (std::size_t j = 0; j < symbols.size(); ++j) whole_values_[symbols[j]] = (*digits)[j];
    const Ratio ratio = compare(body(whole_, a.tensor), b);
    whole_values_ = outer;
    return ratio;
  }

  Ratio through_part(const ExprNode& a, const ExprNode& b) {
    const Stage& stage = part_.stages[b.tensor - part_.input_count];
    std::vector<Polynomial> index;
    for (const Polynomial& p : b.index) index.push_back(of_part(p));
    const core::Dims sizes = *core::concrete(stage.shape);
    std::vector<std::size_t> dims(sizes.size());
    for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = d;
    const auto digits = digits_of_index(index, sizes, dims, b.kind == ExprKind::kReadFlat, ranges_);
    if (!digits) return std::nullopt;
    const Environment outer = part_values_;
    for (std::size_t d = 0; d < dims.size(); ++d) part_values_[stage.index[d]] = (*digits)[d];
    const Ratio ratio = compare(a, *stage.body);
    part_values_ = outer;
    return ratio;
  }

  Ratio compare_factors(const ExprNode& a, const ExprNode& b) {
    const Factors x = factors_of(a), y = factors_of(b);
    if (x.others.size() != y.others.size()) return std::nullopt;
    Ratio ratio = quotient(x.numbers, y.numbers);
    for (std::size_t k = 0; k < x.others.size() && ratio; ++k) {
      const Ratio next = compare(*x.others[k], *y.others[k]);
      ratio = next ? product_of(*ratio, *next) : std::nullopt;
    }
    return ratio;
  }

  /// Terms that are 0 in all of the part do not count: a join reads only some of its inputs.
  Ratio compare_terms(const ExprNode& a, const ExprNode& b) {
    auto x = terms_of(a, true, true), y = terms_of(b, false, true);
    if (x.size() != y.size() && equations_) {  // which terms are 0 is not known yet
      x = terms_of(a, true, false);
      y = terms_of(b, false, false);
    }
    if (x.size() != y.size() || x.empty()) return std::nullopt;
    Ratio common;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Ratio ratio = compare(*x[k], *y[k]);
      if (!ratio || (common && common != ratio)) return std::nullopt;
      common = ratio;
    }
    return common;
  }

  std::vector<const ExprNode*> terms_of(const ExprNode& e, bool is_whole, bool drops) const {
    std::vector<const ExprNode*> terms;
    const auto add = [&](const ExprNode& term) {
      if (is_number(term) && term.number.numerator == 0 && term.number.denominator == 1) return;
      if (drops && term.kind == ExprKind::kGuard && !is_possible(term.constraints, is_whole))
        return;
      terms.push_back(&term);
    };
    if (e.kind != ExprKind::kAdd) add(e);
    if (e.kind == ExprKind::kAdd)
      for (const Expr& term : e.arguments) add(*term);
    return terms;
  }

  bool is_possible(const Constraints& constraints, bool is_whole) const {
    Constraints over = substituted(constraints, is_whole);
    std::erase_if(over, [](const Constraint& c) { return has_unknown(c.expression); });
    Ranges ranges = ranges_;
    return analysis::narrow(over, ranges);
  }

  Ratio compare_maxima(const ExprNode& a, const ExprNode& b) {
    if (a.alternatives.size() != b.alternatives.size()) return std::nullopt;
    for (std::size_t k = 0; k < a.alternatives.size(); ++k) {
      const Alternative &x = a.alternatives[k], &y = b.alternatives[k];
      const Ratio ratio = compare_bound({x.binders, x.constraints, x.body.get()},
                                        {y.binders, y.constraints, y.body.get()});
      if (ratio != kOne) return std::nullopt;
    }
    return kOne;
  }

  Ratio compare_bound(Bound a, Bound b) {
    if (is_number(*a.body) && is_number(*b.body) && a.constraints.empty() && b.constraints.empty())
      return quotient_of_counts(a, b);
    const Ranges outer = ranges_;
    const Environment values_a = whole_values_, values_b = part_values_;
    Ranges all;  // values of variables of which the part's sum has some
    Ratio ratio;
    drop_single_values(a.binders, b.binders);
    bool is_same = a.binders.size() == b.binders.size();
    for (std::size_t k = 0; k < a.binders.size() && is_same; ++k)
      is_same = bind(a.binders[k], b.binders[k], all);
    if (is_same && same_domain(a.constraints, b.constraints, all))
      ratio = compare(*a.body, *b.body);
    ranges_ = outer;
    whole_values_ = values_a;
    part_values_ = values_b;
    return ratio;
  }

  /// A variable with one value need not be written as one. Where both are, they stay a pair.
  void drop_single_values(std::vector<Binder>& a, std::vector<Binder>& b) {
    if (a.size() == b.size()) return;
    std::erase_if(a, [&](const Binder& binder) {
      const auto digits = space_.digits_of(binder.variable);
      for (const VariableDigit& d : digits) {
        const auto found = problem_.cut.find(d.symbol);
        if (d.size != 1 &&
            (found == problem_.cut.end() || found->second.high - found->second.low != 1))
          return false;
      }
      for (const VariableDigit& d : digits) bind(d.symbol, d.size);
      return !digits.empty();
    });
    std::erase_if(b, [&](const Binder& binder) {
      if (binder.low != Polynomial(0) || binder.high != Polynomial(1)) return false;
      part_values_[binder.variable] = 0;
      return true;
    });
  }

  /// The variables of two sums, which run over the same values but for where the part begins.
  bool bind(const Binder& a, const Binder& b, Ranges& all) {
    const auto size = b.high.as_constant();
    const auto size_of_a = a.high.as_constant();
    if (a.low != Polynomial(0) || b.low != Polynomial(0) || !size || !size_of_a) return false;
    const VariableDigit whole{a.variable, 1, *size_of_a};
    auto digits = space_.digits_of(a.variable);
    if (digits.empty()) digits = std::span(&whole, 1);  // it indexes nothing
    std::int64_t own = 1, full = 1;
    for (const VariableDigit& d : digits) {
      const auto found = problem_.cut.find(d.symbol);
      own *= found == problem_.cut.end() ? d.size : found->second.high - found->second.low;
      full *= d.size;
    }
    if (own != *size && (own != full || digits.size() != 1)) return false;
    Polynomial position;
    std::int64_t stride = 1;
    for (std::size_t j = digits.size(); j-- > 0;) {
      const std::int64_t extent = bind(digits[j].symbol, digits[j].size);
      position += Polynomial(digits[j].symbol) * Polynomial(stride);
      stride *= extent;
    }
    part_values_[b.variable] = position;
    if (own != *size) bind_some(digits[0], *size, all);
    return true;
  }

  /// The part's sum runs over as many values as its input has; which, its reads tell.
  void bind_some(const VariableDigit& digit, std::int64_t size, Ranges& all) {
    const Symbol offset = unknown(digit.symbol.id - Symbol::kFirstIndex);
    const Polynomial begin = finished(Polynomial(offset));
    whole_values_[digit.symbol] = Polynomial(digit.symbol) + begin;
    ranges_[digit.symbol] = {0, size};
    if (const auto number = begin.as_constant())
      all[digit.symbol] = {-*number, digit.size - *number};
  }

  // --- Constraints ------------------------------------------------------------------------------

  Constraints substituted(const Constraints& constraints, bool is_whole) const {
    Constraints result;
    for (const Constraint& c : constraints)
      result.push_back({c.kind, is_whole ? of_whole(c.expression) : of_part(c.expression)});
    return result;
  }

  bool same_domain(const Constraints& a, const Constraints& b, const Ranges& all) {
    Constraints x = substituted(a, true), y = substituted(b, false);
    if (equations_) return take_down(x, y);
    return excludes_others(x, all, ranges_) && narrow_alike(x, y, ranges_);
  }

  bool take_down(const Constraints& x, const Constraints& y) {
    for (std::size_t k = 0; k < x.size() && x.size() == y.size(); ++k)
      take_down(x[k].expression - y[k].expression, x[k].kind == Constraint::Kind::kZero
                                                       ? equations_->of_reads
                                                       : equations_->of_conditions);
    Constraints known = x;
    std::erase_if(known, [](const Constraint& c) { return has_unknown(c.expression); });
    Ranges narrowed = ranges_;
    if (analysis::narrow(known, narrowed)) ranges_ = narrowed;
    return true;
  }

  // --- Reads ------------------------------------------------------------------------------------

  bool compare_reads(const ExprNode& a, const ExprNode& b) {
    if (a.kind != b.kind || problem_.kept[b.tensor] != a.tensor) return false;
    const auto& dims = problem_.inputs[a.tensor].dims();
    if (a.kind == ExprKind::kRead) {
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (!same_place(of_whole(a.index[d]), of_part(b.index[d]), dims[d])) return false;
      return true;
    }
    std::vector<DigitInterval> all;
    for (const auto& digits : dims) all.insert(all.end(), digits.begin(), digits.end());
    return same_place(of_whole(a.index[0]), of_part(b.index[0]), all);
  }

  /// Whether position b among the elements that the digits take is position a among all.
  bool same_place(const Polynomial& a, const Polynomial& b,
                  const std::vector<DigitInterval>& digits) {
    if (digits.size() > 1 && (has_unknown(a) || has_unknown(b))) return equations_ != nullptr;
    const auto pairs = equal_places(a, b, digits, ranges_);
    return pairs && std::ranges::all_of(
                        *pairs, [&](const auto& pair) { return equal(pair.first, pair.second); });
  }

  const PartProblem& problem_;
  const DigitSpace& space_;
  const Semantics &whole_, &part_;
  const Solution& known_;
  Equations* equations_;
  Environment whole_values_, part_values_;  // of index variables, over digits of the part's index
  Ranges ranges_;                           // of those digits
};

}  // namespace

std::optional<PartResult> compare(const PartProblem& problem, const Semantics& part,
                                  const Solution& known) {
  return Comparison(problem, part, known, nullptr).run();
}

Solution solution_of(const PartProblem& problem, const Semantics& part) {
  Equations equations;
  Solution solution;
  Comparison(problem, part, solution, &equations).run();
  solve(std::move(equations.of_reads), solution);
  solve(std::move(equations.of_conditions), solution);
  return solution;
}

}  // namespace soapstone::ops::partition
