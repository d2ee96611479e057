// The plainest interpreter there can be, to test the others against: every binder is enumerated,
// every polynomial evaluated anew, nothing is compiled. It also notes which elements are read.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "ops/language/comprehension.h"

namespace soapstone::ops::brute_force {

/// The numbers that expressions are evaluated in.
template <class T>
struct Numbers {
  std::function<T(Rational)> number;
  std::function<T(T, T)> add, multiply, larger;
  std::function<T(T)> inverse;
  std::function<T(Function, const std::vector<T>&)> apply;
  T least;
};

inline Numbers<double> doubles() {
  Numbers<double> n;
  n.number = [](Rational r) { return double(r.numerator) / double(r.denominator); };
  n.add = std::plus<double>();
  n.multiply = std::multiplies<double>();
  n.larger = [](double a, double b) { return std::max(a, b); };
  n.inverse = [](double a) { return 1 / a; };
  n.apply = [](Function f, const std::vector<double>& a) { return evaluate(f, a); };
  n.least = -std::numeric_limits<double>::infinity();
  return n;
}

template <class T>
class Interpreter {
 public:
  Interpreter(const Semantics& semantics, std::vector<core::Dims> dims,
              std::vector<std::vector<T>> inputs, Numbers<T> numbers)
      : semantics_(semantics), dims_(std::move(dims)), values_(std::move(inputs)),
        numbers_(std::move(numbers)) {
    for (const Stage& stage : semantics.stages) {
      dims_.push_back(*core::concrete(stage.shape));
      values_.push_back(
          std::vector<T>(static_cast<std::size_t>(core::element_count(dims_.back()))));
      const std::size_t t = dims_.size() - 1;
      std::vector<Binder> binders;
      for (std::size_t k = 0; k < stage.index.size(); ++k)
        binders.push_back({stage.index[k], 0, dims_[t][k]});
      std::size_t next = 0;
      reads_.emplace_back();
      each(binders, 0, {}, [&] {
        current_reads_.clear();
        values_[t][next++] = eval(*stage.body);
        reads_.back().push_back(current_reads_);
      });
    }
  }

  const std::vector<T>& output(std::size_t k) const { return values_[semantics_.outputs[k]]; }

  using Place = std::pair<std::uint32_t, std::int64_t>;  ///< Tensor, flat position.

  /// The elements of inputs that an element of an output depends on, through all stages.
  std::set<Place> depends_on(std::size_t output, std::int64_t position) const {
    std::set<Place> inputs, seen;
    std::vector<Place> open{{semantics_.outputs[output], position}};
    while (!open.empty()) {
      const Place place = open.back();
      open.pop_back();
      if (!seen.insert(place).second) continue;
      if (place.first < semantics_.input_count) {
        inputs.insert(place);
        continue;
      }
      const auto& stage = reads_[place.first - semantics_.input_count];
      const auto& next = stage[static_cast<std::size_t>(place.second)];
      open.insert(open.end(), next.begin(), next.end());
    }
    return inputs;
  }

 private:
  std::int64_t at(const Polynomial& p) const {
    return p.evaluate([&](Symbol s) { return variables_.at(s); });
  }

  bool hold(const std::vector<Constraint>& constraints) const {
    return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
      const std::int64_t v = at(c.expression);
      return c.kind == Constraint::Kind::kZero ? v == 0 : v >= 0;
    });
  }

  void each(const std::vector<Binder>& binders, std::size_t k,
            const std::vector<Constraint>& constraints, const std::function<void()>& body) {
    if (k == binders.size()) {
      if (hold(constraints)) body();
      return;
    }
    const std::int64_t low = at(binders[k].low), high = at(binders[k].high);
    for (std::int64_t v = low; v < high; ++v) {
      variables_[binders[k].variable] = v;
      each(binders, k + 1, constraints, body);
    }
  }

  T element(std::uint32_t tensor, std::int64_t position) {
    current_reads_.emplace_back(tensor, position);
    return values_[tensor].at(static_cast<std::size_t>(position));
  }

  T eval(const ExprNode& e) {
    switch (e.kind) {
    case ExprKind::kNumber:
      return numbers_.number(e.number);
    case ExprKind::kIndexValue:
      return numbers_.number({at(e.index[0]), 1});
    case ExprKind::kReadFlat:
      return element(e.tensor, at(e.index[0]));
    case ExprKind::kRead: {
      std::int64_t position = 0;
      for (std::size_t k = 0; k < e.index.size(); ++k) {
        const std::int64_t i = at(e.index[k]), size = dims_[e.tensor][k];
        if (i < 0 || i >= size) throw std::out_of_range("index");
        position = position * size + i;
      }
      return element(e.tensor, position);
    }
    case ExprKind::kInverse:
      return numbers_.inverse(eval(*e.arguments[0]));
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kApply: {
      std::vector<T> a;
      for (const Expr& x : e.arguments) a.push_back(eval(*x));
      if (e.kind == ExprKind::kApply) return numbers_.apply(e.function, a);
      T result = a[0];
      for (std::size_t k = 1; k < a.size(); ++k)
        result =
            e.kind == ExprKind::kAdd ? numbers_.add(result, a[k]) : numbers_.multiply(result, a[k]);
      return result;
    }
    case ExprKind::kGuard:
    case ExprKind::kSum: {
      T result = numbers_.number({0, 1});
      each(e.binders, 0, e.constraints,
           [&] { result = numbers_.add(result, eval(*e.arguments[0])); });
      return result;
    }
    case ExprKind::kMax: {
      T result = numbers_.least;
      for (const Alternative& a : e.alternatives)
        each(a.binders, 0, a.constraints, [&] { result = numbers_.larger(result, eval(*a.body)); });
      return result;
    }
    }
    return T{};
  }

  const Semantics& semantics_;
  std::vector<core::Dims> dims_;
  std::vector<std::vector<T>> values_;
  Numbers<T> numbers_;
  std::map<Symbol, std::int64_t> variables_;
  std::vector<Place> current_reads_;
  std::vector<std::vector<std::vector<Place>>> reads_;  // stage, element
};

}  // namespace soapstone::ops::brute_force
