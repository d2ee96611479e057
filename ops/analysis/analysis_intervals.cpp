// Interval arithmetic over affine index expressions.
#include "ops/analysis/analysis_intervals.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::ops::analysis {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

/// Narrows every variable of p ≥ 0 to where the others, at their best, allow it.
bool narrow_one(const Polynomial& p, Ranges& ranges) {
  for (const auto& term : p.terms()) {
    const std::int64_t c = term.coefficient;
    Interval& v = ranges.at(term.monomial[0]);
    const std::int64_t own_best = c * (c > 0 ? v.high - 1 : v.low);
    const std::int64_t others = interval_of(p, ranges).high - 1 - own_best;
    if (c > 0)
      v.low = std::max(v.low, -floor_div(others, c));
    else
      v.high = std::min(v.high, floor_div(others, -c) + 1);
    if (is_empty(v)) return false;
  }
  return !p.is_constant() || p.constant() >= 0;
}

}  // namespace

Interval interval_of(const Polynomial& p, const Ranges& ranges) {
  Interval result{p.constant(), p.constant()};
  for (const auto& term : p.terms()) {
    CHECK(term.monomial.size() == 1, "an index expression is not affine");
    const Interval& v = ranges.at(term.monomial[0]);
    const std::int64_t a = term.coefficient * v.low, b = term.coefficient * (v.high - 1);
    result.low += std::min(a, b);
    result.high += std::max(a, b);
  }
  return {result.low, result.high + 1};
}

bool narrow(const std::vector<Constraint>& constraints, Ranges& ranges) {
  constexpr int kPasses = 4;  // one narrowing may allow another; bounds converge fast
  for (int pass = 0; pass < kPasses; ++pass) {
    const Ranges before = ranges;
    for (const Constraint& c : constraints) {
      if (!narrow_one(c.expression, ranges)) return false;
      if (c.kind == Constraint::Kind::kZero && !narrow_one(-c.expression, ranges)) return false;
    }
    if (ranges == before) break;
  }
  return true;
}

std::vector<Digits> split_flat(const Polynomial& position, const core::Dims& dims,
                               const Ranges& ranges) {
  std::vector<Digits> digits;
  Polynomial rest = position;
  std::int64_t stride = core::element_count(dims);
  std::size_t first = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    stride /= std::max<std::int64_t>(dims[d], 1);
    if (stride == 0) break;  // the tensor has no elements
    Polynomial outer = floor_div(rest.constant(), stride);
    for (const auto& term : rest.terms())
      if (term.coefficient % stride == 0)
        outer += Polynomial(term.monomial[0]) * Polynomial(term.coefficient / stride);
    const Polynomial inner = rest - outer * Polynomial(stride);
    const Interval values = interval_of(inner, ranges);
    if (values.low < 0 || values.high > stride) continue;
    digits.push_back({first, d, outer});
    first = d + 1;
    rest = inner;
  }
  return digits;
}

core::Dims dims_of(const core::Graph& graph, core::TensorId id) {
  if (!id.valid()) return {};
  const core::TensorType& type = graph.tensor(id).type;
  const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
  CHECK(dims, "analysis needs shapes in numbers");
  return *dims;
}

std::vector<core::Dims> tensor_dims(const core::Graph& graph, core::NodeId node,
                                    const Semantics& semantics) {
  std::vector<core::Dims> dims;
  for (core::TensorId id : graph.node(node).inputs) dims.push_back(dims_of(graph, id));
  for (const Stage& stage : semantics.stages) {
    const auto shape = core::concrete(stage.shape);
    CHECK(shape, "analysis needs shapes in numbers");
    dims.push_back(*shape);
  }
  return dims;
}

}  // namespace soapstone::ops::analysis
