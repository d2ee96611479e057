#include "ops/evaluation/evaluate_ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace soapstone::ops::evaluation {
namespace {

bool is_apply(const ExprNode& node, Function function) {
  return node.kind == ExprKind::kApply && node.function == function;
}

/// Whether it reads one tensor at the index, with the variable in place of coordinate d.
bool reads_at(const ExprNode& node, std::uint32_t tensor, const Stage& stage,
              std::optional<std::size_t> d, Symbol variable) {
  if (node.kind != ExprKind::kRead || node.tensor != tensor ||
      node.index.size() != stage.index.size())
    return false;
  for (std::size_t k = 0; k < node.index.size(); ++k)
    if (node.index[k] != Polynomial(d == k ? variable : stage.index[k])) return false;
  return true;
}

}  // namespace

/// Σ over v of less(x[i], x[v]) + (equal(x[v], x[i]) if v < i), or with less(x[v], x[i]).
std::optional<Ranks> ranks_in(const Stage& stage, std::span<const core::Dims> dims) {
  const ExprNode& sum = *stage.body;
  if (sum.kind != ExprKind::kSum || sum.binders.size() != 1 || !sum.constraints.empty())
    return std::nullopt;
  const ExprNode& terms = *sum.arguments[0];
  if (terms.kind != ExprKind::kAdd || terms.arguments.size() != 2) return std::nullopt;
  const ExprNode &before = *terms.arguments[0], &tie = *terms.arguments[1];
  if (!is_apply(before, Function::kLess) || tie.kind != ExprKind::kGuard ||
      tie.constraints.size() != 1 || !is_apply(*tie.arguments[0], Function::kEqual) ||
      before.arguments[0]->kind != ExprKind::kRead)
    return std::nullopt;
  const Binder& binder = sum.binders[0];
  for (std::size_t d = 0; d < stage.index.size(); ++d) {
    if (binder.low != Polynomial(0) || binder.high != stage.shape[d]) continue;
    const Constraint earlier = less(Polynomial(binder.variable), Polynomial(stage.index[d]));
    if (tie.constraints[0].kind != earlier.kind ||
        tie.constraints[0].expression != earlier.expression)
      continue;
    Ranks ranks{.tensor = before.arguments[0]->tensor, .is_falling = false};
    if (dims[ranks.tensor] != *core::concrete(stage.shape)) return std::nullopt;
    const auto is_self = [&](const Expr& e) {
      return reads_at(*e, ranks.tensor, stage, std::nullopt, binder.variable);
    };
    const auto is_other = [&](const Expr& e) {
      return reads_at(*e, ranks.tensor, stage, d, binder.variable);
    };
    const auto &compared = before.arguments, &equals = tie.arguments[0]->arguments;
    ranks.is_falling = is_self(compared[0]) && is_other(compared[1]);
    if (!ranks.is_falling && !(is_other(compared[0]) && is_self(compared[1]))) continue;
    if (!(is_other(equals[0]) && is_self(equals[1]))) continue;
    for (std::size_t k = 0; k < stage.shape.size(); ++k) {
      std::size_t& part = k < d ? ranks.outer : k == d ? ranks.size : ranks.inner;
      part *= static_cast<std::size_t>(stage.shape[k].constant());
    }
    return ranks;
  }
  return std::nullopt;
}

void write_ranks(const Ranks& ranks, const double* x, double* out) {
  const auto is_less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::vector<std::size_t> order(ranks.size);
  for (std::size_t line = 0; line < ranks.outer * ranks.inner; ++line) {
    const std::size_t first = line / ranks.inner * ranks.size * ranks.inner + line % ranks.inner;
    const auto at = [&](std::size_t k) { return first + k * ranks.inner; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return ranks.is_falling ? is_less(x[at(b)], x[at(a)]) : is_less(x[at(a)], x[at(b)]);
    });
    for (std::size_t k = 0; k < order.size(); ++k) out[at(order[k])] = static_cast<double>(k);
  }
}

}  // namespace soapstone::ops::evaluation
