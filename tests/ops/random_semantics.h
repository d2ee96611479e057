// Random comprehensions over two inputs, for property tests: sums, maxima, guards, functions,
// several stages, indices of any affine form that guards keep in bounds.
#pragma once

#include <random>

#include "ops/language/comprehension.h"

namespace soapstone::ops::random_semantics {

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {  // inclusive
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  Semantics make() {
    SemanticsBuilder builder(2);
    builder_ = &builder;
    dims_.clear();
    for (int k = 0; k < 2; ++k) dims_.push_back(random_dims());
    const std::int64_t stages = pick(1, 3);
    for (std::int64_t s = 0; s < stages; ++s) {
      const core::Dims dims = random_dims();
      const auto body = [&](const std::vector<Polynomial>& index) {
        variables_ = index;
        return expression(4);
      };
      if (s + 1 == stages)
        builder.output(core::to_shape(dims), body);
      else
        builder.stage(core::to_shape(dims), body);
      dims_.push_back(dims);
    }
    return std::move(builder).finish();
  }

  /// Dimensions of the inputs.
  std::vector<core::Dims> dims() const { return {dims_[0], dims_[1]}; }

 private:
  core::Dims random_dims() {
    core::Dims dims(static_cast<std::size_t>(pick(0, 3)));
    for (auto& d : dims) d = pick(1, 6);
    return dims;
  }

  Polynomial affine() {
    if (!variables_.empty() && pick(0, 3) != 0) {  // mostly simple, or nearly all reads are guarded
      const auto k = static_cast<std::size_t>(pick(0, std::ssize(variables_) - 1));
      return variables_[k] + Polynomial(pick(0, 3) == 0 ? pick(-1, 1) : 0);
    }
    Polynomial p = pick(-2, 3);
    for (const Polynomial& v : variables_) p += v * Polynomial(pick(-1, 2));
    return p;
  }

  Expr random_read() {
    const auto t = static_cast<std::uint32_t>(pick(0, std::ssize(dims_) - 1));
    std::vector<Polynomial> index;
    std::vector<Constraint> inside;
    const bool is_flat = pick(0, 3) == 0;
    const core::Dims sizes = is_flat ? core::Dims{core::element_count(dims_[t])} : dims_[t];
    for (std::int64_t size : sizes) {
      index.push_back(affine());
      inside.push_back(at_least(index.back(), 0));
      inside.push_back(less(index.back(), size));
    }
    return guard(inside, is_flat ? read_flat(t, index[0]) : read(t, index));
  }

  std::vector<Constraint> constraints() {
    std::vector<Constraint> list;
    for (std::int64_t k = pick(0, 3) - 1; k > 0; --k)
      list.push_back(pick(0, 5) == 0 ? equal(affine(), affine()) : at_least(affine(), affine()));
    return list;
  }

  std::vector<Binder> binders() {
    std::vector<Binder> list;
    for (std::int64_t k = pick(1, 2); k > 0; --k) {
      const Polynomial low = pick(0, 4) == 0 ? affine() : Polynomial(pick(-1, 1));
      list.push_back({builder_->fresh(), low, low + Polynomial(pick(1, 4))});
      variables_.emplace_back(list.back().variable);
    }
    return list;
  }

  Expr leaf() {
    switch (pick(0, 3)) {
    case 0:
      return index_value(affine());
    case 1:
      return random_read() + number(Rational{pick(1, 3), 1});
    default:
      return random_read();
    }
  }

  Expr product_or(int depth) {
    return pick(0, 1) == 0 ? random_read() * random_read() : expression(depth);
  }

  Expr expression(int depth) {
    if (depth == 0) return leaf();
    const auto variables = variables_;
    Expr result;
    switch (pick(0, 9)) {
    case 0:
      return expression(depth - 1) + expression(depth - 1);
    case 1:
      return expression(depth - 1) * expression(depth - 1);
    case 2:
      return apply(Function::kRelu, {expression(depth - 1)});
    case 3:
      return apply(Function::kSelect,
                   {expression(depth - 1), expression(depth - 1), expression(depth - 1)});
    case 4:
      return guard(constraints(), expression(depth - 1));
    case 5:
      return number(Rational{pick(-3, 3), 1}) * expression(depth - 1);
    case 6: {
      const Binder v{builder_->fresh(), 0, pick(1, 5)};
      const Polynomial shifted = v.variable + Polynomial(pick(-1, 1));
      const Expr chosen = apply(Function::kEqual, {expression(0), index_value(shifted)});
      variables_.emplace_back(v.variable);
      result = sum({v}, chosen * expression(depth - 1), constraints());
      break;
    }
    case 7: {
      auto over = binders();
      result = maximum({{over, {}, expression(depth - 1)}, {{}, {}, number(Rational{-50, 1})}});
      break;
    }
    default: {
      auto over = binders();
      auto where = constraints();
      result = sum(over, product_or(depth - 1), where);
    }
    }
    variables_ = variables;
    return result;
  }

  std::mt19937 random_;
  SemanticsBuilder* builder_ = nullptr;
  std::vector<core::Dims> dims_;
  std::vector<Polynomial> variables_;
};

}  // namespace soapstone::ops::random_semantics
