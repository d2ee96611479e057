// One walk through both comprehensions. Stages are looked through: a read of a stage is its body at
// that index. Index expressions of both are polynomials in the digits of the part's index.
#include "ops/restriction/part_comparison.h"

#include <algorithm>

#include "ops/language/rational.h"
#include "ops/restriction/equal_places.h"
#include "ops/restriction/part_values.h"

namespace soapstone::ops::partition {
namespace {

using analysis::Ranges;
using Constraints = std::vector<Constraint>;
struct Equations {
  std::vector<Polynomial> of_reads, of_conditions;
};

class Comparison {
 public:
  /// `equations`: takes down what unknowns must satisfy instead of refusing; null: there are none.
  Comparison(const PartProblem& problem, const Semantics& part, const Solution& known,
             Equations* equations)
      : problem_(problem), whole_(problem.whole.semantics()), part_(part), equations_(equations),
        values_(problem, part, known, equations != nullptr) {}

  std::optional<PartResult> run() {
    if (whole_.outputs.size() != part_.outputs.size()) return std::nullopt;
    if (!equations_ && !requires_no_more()) return std::nullopt;
    PartResult result;
    for (std::size_t k = 0; k < whole_.outputs.size(); ++k) {
      values_.begin_output(k);
      const ExprNode& a = body(whole_, whole_.outputs[k]);
      const ExprNode& b = body(part_, part_.outputs[k]);
      std::int64_t shift = 0;
      Ratio factor = kOne;
      if (a.kind == ExprKind::kIndexValue && b.kind == a.kind) {
        const Polynomial difference = values_.of_whole(a.index[0]) - values_.of_part(b.index[0]);
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
      return equal(values_.of_whole(a.index[0]), values_.of_part(b.index[0])) ? Ratio(kOne)
                                                                              : std::nullopt;
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
    const PartValues::Scope outer = values_.scope();
    if (!values_.enter_stage_of_whole(a)) return std::nullopt;
    const Ratio ratio = compare(body(whole_, a.tensor), b);
    values_.restore(outer);
    return ratio;
  }

  Ratio through_part(const ExprNode& a, const ExprNode& b) {
    const PartValues::Scope outer = values_.scope();
    if (!values_.enter_stage_of_part(b)) return std::nullopt;
    const Ratio ratio = compare(a, body(part_, b.tensor));
    values_.restore(outer);
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
      if (drops && term.kind == ExprKind::kGuard &&
          !values_.is_possible(term.constraints, is_whole))
        return;
      terms.push_back(&term);
    };
    if (e.kind != ExprKind::kAdd) add(e);
    if (e.kind == ExprKind::kAdd)
      for (const Expr& term : e.arguments) add(*term);
    return terms;
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
    const PartValues::Scope outer = values_.scope();
    Ranges all;  // values of variables of which the part's sum has some
    Ratio ratio;
    values_.drop_single_values(a.binders, b.binders);
    bool is_same = a.binders.size() == b.binders.size();
    for (std::size_t k = 0; k < a.binders.size() && is_same; ++k)
      is_same = values_.bind(a.binders[k], b.binders[k], all);
    if (is_same && same_domain(a.constraints, b.constraints, all))
      ratio = compare(*a.body, *b.body);
    values_.restore(outer);
    return ratio;
  }

  // --- Constraints ------------------------------------------------------------------------------

  bool same_domain(const Constraints& a, const Constraints& b, const Ranges& all) {
    Constraints x = values_.substituted(a, true), y = values_.substituted(b, false);
    if (equations_) return take_down(x, y);
    return excludes_others(x, all, values_.ranges()) && narrow_alike(x, y, values_.ranges());
  }

  bool take_down(const Constraints& x, const Constraints& y) {
    for (std::size_t k = 0; k < x.size() && x.size() == y.size(); ++k)
      take_down(x[k].expression - y[k].expression, x[k].kind == Constraint::Kind::kZero
                                                       ? equations_->of_reads
                                                       : equations_->of_conditions);
    Constraints known = x;
    std::erase_if(known, [](const Constraint& c) { return has_unknown(c.expression); });
    Ranges narrowed = values_.ranges();
    if (analysis::narrow(known, narrowed)) values_.ranges() = narrowed;
    return true;
  }

  // --- Reads ------------------------------------------------------------------------------------

  bool compare_reads(const ExprNode& a, const ExprNode& b) {
    if (a.kind != b.kind || problem_.kept[b.tensor] != a.tensor) return false;
    const auto& dims = problem_.inputs[a.tensor].dims();
    if (a.kind == ExprKind::kRead) {
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (!same_place(values_.of_whole(a.index[d]), values_.of_part(b.index[d]), dims[d]))
          return false;
      return true;
    }
    std::vector<DigitInterval> all;
    for (const auto& digits : dims) all.insert(all.end(), digits.begin(), digits.end());
    return same_place(values_.of_whole(a.index[0]), values_.of_part(b.index[0]), all);
  }

  /// Whether position b among the elements that the digits take is position a among all.
  bool same_place(const Polynomial& a, const Polynomial& b,
                  const std::vector<DigitInterval>& digits) {
    if (digits.size() > 1 && (has_unknown(a) || has_unknown(b))) return equations_ != nullptr;
    const auto pairs = equal_places(a, b, digits, values_.ranges());
    return pairs && std::ranges::all_of(
                        *pairs, [&](const auto& pair) { return equal(pair.first, pair.second); });
  }

  const PartProblem& problem_;
  const Semantics &whole_, &part_;
  Equations* equations_;
  PartValues values_;
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
