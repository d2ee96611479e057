// Follows partial values through the stages: which expressions are linear in a partial sum, which
// commute with a maximum, and which need a stage joined before they can go on.
#include "ops/partition/joining.h"

#include <algorithm>

namespace soapstone::ops::partition {
namespace {

/// What the values of the parts come to; kSame: each part has the value itself.
enum class Partial : std::uint8_t { kSame, kSum, kMax, kMin, kNone };

Partial negated(Partial p) {
  return p == Partial::kMax ? Partial::kMin : p == Partial::kMin ? Partial::kMax : p;
}

bool is_zero(const ExprNode& e) {
  return e.kind == ExprKind::kNumber && e.number == Rational{0, 1};
}

class JoiningWalk {
 public:
  JoiningWalk(const DigitSpace& space, const std::set<Symbol>& cut)
      : space_(space), semantics_(space.semantics()), cut_(cut),
        pending_(semantics_.stages.size(), Partial::kSame),
        is_joined_(semantics_.stages.size(), false) {}

  std::optional<Joining> run() {
    // A stage that turns out to be joined in between changes what was found before it.
    do {
      is_again_ = false;
      once_.clear();
      for (std::size_t s = 0; s < semantics_.stages.size() && !is_again_; ++s)
        if (!through(s)) return std::nullopt;
    } while (is_again_);
    return result();
  }

 private:
  bool through(std::size_t s) {
    const Stage& stage = semantics_.stages[s];
    std::size_t followed = 0;
    for (Symbol variable : stage.index) followed += cuts_in(variable);
    if (followed > 1) return false;  // elements off the diagonal would be lost
    scope_ = followed > 0;
    Partial value = visit(*stage.body);
    if (followed > 0 && value != Partial::kSame) value = forced(*stage.body);
    pending_[s] = value;
    return value != Partial::kNone;
  }

  /// How many digits of the variable are cut.
  std::size_t cuts_in(Symbol variable) const {
    std::size_t count = 0;
    for (const VariableDigit& d : space_.digits_of(variable)) count += cut_.count(d.symbol);
    return count;
  }

  std::size_t cuts_in(const std::vector<Binder>& binders) const {
    std::size_t count = 0;
    for (const Binder& b : binders) count += cuts_in(b.variable);
    return count;
  }

  /// The value once all stages that it reads are joined.
  Partial forced(const ExprNode& e) {
    if (!join_below(e)) return Partial::kNone;
    const Partial value = visit(e);
    return value == Partial::kSame ? value : Partial::kNone;
  }

  /// Whether there was a stage to join.
  bool join_below(const ExprNode& e) {
    bool found = false;
    if ((e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat) &&
        e.tensor >= semantics_.input_count) {
      const std::size_t s = e.tensor - semantics_.input_count;
      found = pending_[s] != Partial::kSame && !is_joined_[s];
      if (found) is_joined_[s] = is_again_ = true;
    }
    for (const Alternative& a : e.alternatives) found |= join_below(*a.body);
    for (const Expr& argument : e.arguments) found |= join_below(*argument);
    return found;
  }

  Partial visit(const ExprNode& e) {
    switch (e.kind) {
    case ExprKind::kNumber:
      return Partial::kSame;
    case ExprKind::kIndexValue:
      // A sum with weights by position is no sum of alike parts.
      return summed_ && mentions_cut(e.index[0]) ? Partial::kNone : Partial::kSame;
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      return visit_read(e);
    case ExprKind::kAdd:
      return visit_sum_of_terms(e);
    case ExprKind::kMul:
      return visit_product(e);
    case ExprKind::kInverse:
      return visit(*e.arguments[0]) == Partial::kSame ? Partial::kSame : forced(e);
    case ExprKind::kApply:
      return visit_function(e);
    case ExprKind::kGuard:
      return visit(*e.arguments[0]);
    case ExprKind::kSum:
      return visit_sum(e);
    case ExprKind::kMax:
      return visit_maximum(e);
    }
    return Partial::kNone;
  }

  Partial visit_read(const ExprNode& e) {
    if (e.tensor < semantics_.input_count) return Partial::kSame;
    const std::size_t s = e.tensor - semantics_.input_count;
    if (is_joined_[s] || pending_[s] == Partial::kSame) return Partial::kSame;
    if (!scope_) return pending_[s];
    // The elements of a part need the joined value.
    join_below(e);
    return Partial::kSame;
  }

  Partial visit_sum_of_terms(const ExprNode& e) {
    Partial common = Partial::kSame;
    for (const Expr& term : e.arguments) {
      const Partial value = visit(*term);
      if (value == Partial::kNone) return value;
      if (value == Partial::kSame || value == common) continue;
      if (common != Partial::kSame) return forced(e);
      common = value;
    }
    if (common == Partial::kMax || common == Partial::kMin) {
      const auto partial = std::ranges::count_if(
          e.arguments, [&](const Expr& term) { return visit(*term) != Partial::kSame; });
      return partial == 1 ? common : forced(e);
    }
    if (common == Partial::kSum)
      for (const Expr& term : e.arguments)
        if (!is_zero(*term) && visit(*term) == Partial::kSame && !add_once(*term)) return forced(e);
    return common;
  }

  /// Notes the inputs of a term that only one part may add: it must be 0 where they are.
  bool add_once(const ExprNode& term) {
    switch (term.kind) {
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      if (term.tensor >= semantics_.input_count || reads_of(term.tensor) != 1) return false;
      once_.insert(term.tensor);
      return true;
    case ExprKind::kMul:
      return std::ranges::any_of(term.arguments,
                                 [&](const Expr& factor) { return add_once(*factor); });
    case ExprKind::kGuard:
      return add_once(*term.arguments[0]);
    default:
      return false;
    }
  }

  std::ptrdiff_t reads_of(std::uint32_t tensor) const {
    return std::ranges::count(space_.accesses(), tensor, &Access::tensor);
  }

  Partial visit_product(const ExprNode& e) {
    Partial value = Partial::kSame;
    bool are_numbers = true, is_negative = false;
    for (const Expr& factor : e.arguments) {
      const Partial next = visit(*factor);
      if (next == Partial::kNone) return next;
      if (next != Partial::kSame) {
        if (value != Partial::kSame) return forced(e);
        value = next;
        continue;
      }
      are_numbers &= factor->kind == ExprKind::kNumber;
      is_negative ^= factor->kind == ExprKind::kNumber && factor->number.numerator < 0;
    }
    if (value == Partial::kSame || value == Partial::kSum) return value;
    return !are_numbers ? forced(e) : is_negative ? negated(value) : value;
  }

  /// value = v for the variable v that is cut: a sum selects the element that another tensor names.
  bool selects(const ExprNode& e) const {
    return summed_ && e.function == Function::kEqual &&
           e.arguments[1]->kind == ExprKind::kIndexValue &&
           e.arguments[1]->index[0].terms().size() == 1 && mentions_cut(e.arguments[1]->index[0]);
  }

  /// The input that the expression depends on.
  void note_selector(const ExprNode& e) {
    if (e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat) {
      if (e.tensor < semantics_.input_count)
        selected_by_ = e.tensor;
      else
        note_selector(*semantics_.stages[e.tensor - semantics_.input_count].body);
    }
    for (const Expr& argument : e.arguments) note_selector(*argument);
  }

  Partial visit_function(const ExprNode& e) {
    if (selects(e)) {
      note_selector(*e.arguments[0]);
      return visit(*e.arguments[0]);
    }
    std::vector<Partial> values;
    for (const Expr& argument : e.arguments) values.push_back(visit(*argument));
    if (std::ranges::find(values, Partial::kNone) != values.end()) return Partial::kNone;
    if (std::ranges::count(values, Partial::kSame) == std::ssize(values)) return Partial::kSame;
    const bool is_extremum = values[0] == Partial::kMax || values[0] == Partial::kMin;
    if (values.size() == 1 && is_extremum && properties(e.function).monotone) return values[0];
    const auto is_linear = [&](std::size_t k) {
      return values[k] == Partial::kSum || is_zero(*e.arguments[k]);
    };
    if (e.function == Function::kSelect && values[0] == Partial::kSame && is_linear(1) &&
        is_linear(2))
      return Partial::kSum;
    return forced(e);
  }

  Partial visit_sum(const ExprNode& e) {
    const ExprNode& body = *e.arguments[0];
    const std::size_t count = cuts_in(e.binders);
    if (count == 0) {
      const Partial value = visit(body);
      return value == Partial::kMax || value == Partial::kMin ? forced(e) : value;
    }
    if (scope_ || count > 1) return Partial::kNone;
    for (const Constraint& c : e.constraints)
      if (mentions_cut(c.expression) && !is_bound(c, body, space_.dims())) return Partial::kNone;
    return within_cut(body) ? Partial::kSum : Partial::kNone;
  }

  Partial visit_maximum(const ExprNode& e) {
    Partial common = Partial::kSame;
    for (const Alternative& a : e.alternatives) {
      Partial value = Partial::kSame;
      if (const std::size_t count = cuts_in(a.binders); count > 0) {
        // An alternative with constraints may have no element in some part.
        if (scope_ || count > 1 || !a.constraints.empty() || !within_cut(*a.body))
          return Partial::kNone;
        value = Partial::kMax;
      } else {
        value = visit(*a.body);
      }
      if (value == Partial::kNone) return value;
      if (value == Partial::kSum || value == Partial::kMin) return forced(e);
      if (value == Partial::kMax) common = value;
    }
    return common;
  }

  /// Whether the body has its value in each part, for the values of the cut variable in scope.
  bool within_cut(const ExprNode& body) {
    scope_ = summed_ = true;
    const Partial value = visit(body);
    scope_ = summed_ = false;
    return value == Partial::kSame;
  }

  bool mentions_cut(const Polynomial& p) const {
    return std::ranges::any_of(p.symbols(), [&](Symbol v) { return cuts_in(v) > 0; });
  }

  static Joined joined(Partial p) {
    return p == Partial::kSum   ? Joined::kSum
           : p == Partial::kMax ? Joined::kMax
           : p == Partial::kMin ? Joined::kMin
                                : Joined::kSame;
  }

  Joining result() const {
    Joining joining;
    for (std::uint32_t output : semantics_.outputs) {
      const std::size_t s = output - semantics_.input_count;
      const bool follows =
          std::ranges::any_of(semantics_.stages[s].index, [&](Symbol v) { return cuts_in(v) > 0; });
      joining.outputs.push_back(follows ? Joined::kIndex : joined(pending_[s]));
    }
    for (std::size_t s = 0; s < is_joined_.size(); ++s)
      if (is_joined_[s])
        joining.between.push_back({s, joined(pending_[s]),
                                   core::element_count(space_.dims()[semantics_.input_count + s])});
    joining.once.assign(once_.begin(), once_.end());
    joining.selected_by = selected_by_;
    return joining;
  }

  const DigitSpace& space_;
  const Semantics& semantics_;
  const std::set<Symbol>& cut_;
  std::vector<Partial> pending_;  // by stage
  std::vector<bool> is_joined_;   // by stage: read only after its parts are joined
  std::set<std::size_t> once_;
  std::optional<std::size_t> selected_by_;
  bool scope_ = false;   // a cut variable is in scope
  bool summed_ = false;  // and it is a sum's or a maximum's
  bool is_again_ = false;
};

}  // namespace

std::optional<Joining> joining_of(const DigitSpace& space, const std::set<Symbol>& cut) {
  return JoiningWalk(space, cut).run();
}

}  // namespace soapstone::ops::partition
