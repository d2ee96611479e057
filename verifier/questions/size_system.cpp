// Equations with a coefficient 1 or −1 are solved; derived sizes get the facts that define them.
#include "verifier/questions/size_system.h"

#include <algorithm>

#include "rules/rule/typing.h"

namespace soapstone::verifier {
namespace {

class Builder {
 public:
  explicit Builder(const rules::Rule& rule) : rule_(rule) {}

  SizeSystem build() {
    collect();
    while (solve_one() || merge_derived()) {
    }
    finish();
    return std::move(system_);
  }

 private:
  void collect();
  bool solve_one();
  bool merge_derived();
  void finish();
  bool is_derived(Symbol symbol) const;

  const rules::Rule& rule_;
  SizeSystem system_;
  std::vector<Linear> equations_;
  std::vector<Linear> at_least_zero_;
  std::vector<Linear> positive_;
};

bool Builder::is_derived(Symbol symbol) const {
  return std::any_of(rule_.derived.begin(), rule_.derived.end(),
                     [&](const ops::DerivedSize& d) { return d.symbol == symbol; });
}

void Builder::collect() {
  const auto add = [&](const ops::SizeConstraint& constraint) {
    (constraint.kind == ops::SizeConstraint::Kind::kZero ? equations_ : at_least_zero_)
        .emplace_back(Linear(constraint.expression));
  };
  const auto typed = rules::type_sides(rule_.source, rule_.target, {});
  if (!typed) {
    system_.contradiction = typed.error().to_string();
    return;
  }
  std::for_each(typed->assumptions.begin(), typed->assumptions.end(), add);
  std::for_each(rule_.guard.begin(), rule_.guard.end(), add);
  for (std::size_t k = 0; k < rule_.source.tensor_bound(); ++k) {
    const core::TensorId id(k);
    if (!rule_.source.contains(id)) continue;
    for (const core::Size& size : rule_.source.tensor(id).type.shape) {
      positive_.emplace_back(Linear(size));
    }
  }
}

/// Takes one equation that determines a symbol. Ordinary symbols go before derived ones, which
/// are known by their definition.
bool Builder::solve_one() {
  for (std::size_t k = 0; k < equations_.size(); ++k) {
    const Linear equation = equations_[k].substitute(system_.solution);
    if (equation.is_constant()) {
      if (equation.constant() != 0) system_.contradiction = "the sizes contradict each other";
      equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(k));
      return system_.contradiction.empty();
    }
    const Linear reduced = equal(equation, 0).expression;
    std::vector<Symbol> symbols;
    reduced.append_symbols(symbols);
    std::sort(symbols.begin(), symbols.end(), [&](Symbol a, Symbol b) {
      return std::pair(is_derived(a), b) < std::pair(is_derived(b), a);
    });
    for (Symbol symbol : symbols) {
      const std::int64_t coefficient = reduced.coefficient(symbol);
      if ((coefficient != 1 && coefficient != -1) || !reduced.is_linear_in(symbol)) continue;
      const Linear value = (reduced - Linear(symbol).scaled(coefficient)).scaled(-coefficient);
      for (auto& [name, old] : system_.solution) old = old.substitute({{symbol, value}});
      system_.solution.emplace_back(symbol, value);
      equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    }
  }
  return false;
}

/// Two derived sizes with the same definition are the same size.
bool Builder::merge_derived() {
  for (std::size_t a = 0; a < rule_.derived.size(); ++a) {
    for (std::size_t b = a + 1; b < rule_.derived.size(); ++b) {
      const ops::DerivedSize& x = rule_.derived[a];
      const ops::DerivedSize& y = rule_.derived[b];
      if (x.kind != y.kind || x.divisor != y.divisor ||
          !(system_.apply(x.numerator) == system_.apply(y.numerator))) {
        continue;
      }
      const Linear difference = system_.apply(x.symbol) - system_.apply(y.symbol);
      if (difference == Linear(0)) continue;
      equations_.push_back(difference);
      return true;
    }
  }
  return false;
}

void Builder::finish() {
  const auto add = [&](const Fact& fact) {
    const auto truth = fact.truth();
    if (truth == false) system_.contradiction = "the sizes contradict each other";
    if (!truth) insert(system_.background, fact);
  };
  const auto solved = [&](const Linear& expression) {
    return expression.substitute(system_.solution);
  };
  for (const Linear& size : positive_) add(at_least(solved(size), 1));
  for (const Linear& equation : equations_) add(equal(solved(equation), 0));
  for (const Linear& expression : at_least_zero_) add(at_least(solved(expression), 0));
  for (const ops::DerivedSize& derived : rule_.derived) {
    const Linear value = system_.apply(derived.symbol);
    const Linear numerator = system_.apply(derived.numerator);
    if (derived.kind == ops::DerivedSize::Kind::kFloorDiv) {
      add(at_least(numerator, value.scaled(derived.divisor)));
      add(less(numerator, value.scaled(derived.divisor) + derived.divisor));
    } else {
      // max(0, e) is e or 0; both bounds are linear, that one of them is met is not.
      add(at_least(value, 0));
      add(at_least(value, numerator));
    }
  }
  for (const Fact& fact : system_.background) {
    // n − 1 ≥ 0
    const auto symbol = (fact.expression + 1).as_symbol();
    if (symbol && fact.kind == Fact::Kind::kNonNegative) system_.sizes.push_back(*symbol);
  }
}

}  // namespace

SizeSystem solve_sizes(const rules::Rule& rule) {
  try {
    return Builder(rule).build();
  } catch (const OutOfBudget& end) {
    SizeSystem none;
    none.contradiction = end.reason;
    return none;
  }
}

}  // namespace soapstone::verifier
