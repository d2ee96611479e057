// The rules, one for each kind of expression but sums and maxima (lowering_sums.cpp).
#include "ops/lowering/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/definition/indexing.h"
#include "ops/lowering/reading.h"

namespace soapstone::ops {
namespace {

using core::TensorId;

double real(const Rational& r) {
  if (r.denominator != 0)
    return static_cast<double>(r.numerator) / static_cast<double>(r.denominator);
  if (r.numerator == 0) return std::numeric_limits<double>::quiet_NaN();
  return r.numerator > 0 ? std::numeric_limits<double>::infinity()
                         : -std::numeric_limits<double>::infinity();
}

}  // namespace

Lowering::Lowering(SharedNodes& nodes, const Semantics& semantics, std::span<const TensorId> inputs,
                   core::DataType type)
    : nodes_(nodes), input_count_(semantics.input_count), inputs_(inputs.begin(), inputs.end()),
      ops_(nodes, space_, type) {}

void Lowering::add_stage(const Stage& stage) {
  for (std::size_t d = 0; d < stage.shape.size(); ++d)
    space_.add(stage.index[d], 0, stage.shape[d].constant());
  Computed computed{value(stage.body), {}};
  for (const Symbol v : stage.index)
    computed.has_dim.push_back(std::ranges::find(computed.value.axes, v) !=
                               computed.value.axes.end());
  stages_.push_back(std::move(computed));
}

TensorId Lowering::output(std::uint32_t tensor, const core::TensorType& type) {
  if (nodes_.error()) return TensorId::none();
  if (tensor < input_count_) return inputs_[tensor];
  const Computed& computed = stages_[tensor - input_count_];
  TensorId result = ops_.as(computed.value, type.data_type).tensor;
  const auto dims = core::concrete(type.shape);
  if (nodes_.error() || nodes_.dims(result) == *dims) return result;
  core::Dims with_ones;
  for (std::size_t d = 0; d < dims->size(); ++d)
    with_ones.push_back(computed.has_dim[d] ? (*dims)[d] : 1);
  if (nodes_.dims(result) != with_ones)
    result = nodes_.append("reshape", {result}, {{"shape", to_sizes(with_ones)}});
  if (with_ones == *dims || nodes_.error()) return result;
  return nodes_.append("expand", {result}, {{"shape", type.shape}});
}

Spread Lowering::value(const Expr& e) {
  if (nodes_.error()) return number_of(0);
  switch (e->kind) {
  case ExprKind::kNumber:
    return number_of(real(e->number));
  case ExprKind::kIndexValue:
    return index_value(e->index[0]);
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return element(*e);
  case ExprKind::kAdd:
    return sum_of_terms(*e);
  case ExprKind::kMul:
  case ExprKind::kInverse:
    return product(e);
  case ExprKind::kApply: {
    std::vector<Spread> arguments;
    for (const Expr& argument : e->arguments) arguments.push_back(value(argument));
    return nodes_.error() ? number_of(0) : ops_.apply(e->function, arguments);
  }
  case ExprKind::kGuard:
    return guarded(*e);
  case ExprKind::kSum:
    return sum(e);
  case ExprKind::kMax:
    return maximum(*e);
  }
  CHECK(false, "unreachable");
}

Spread Lowering::index_value(const Polynomial& value) {
  const auto table = space_.tabulate(value);
  if (!table) {
    nodes_.fail(core::unsupported("written with standard operators it takes a large table"));
    return number_of(0);
  }
  if (table->axes.empty()) return number_of(static_cast<double>(table->values[0]));
  return ops_.constant(*table, core::DataType::kInt64);
}

Spread Lowering::element(const ExprNode& e) {
  const bool is_flat = e.kind == ExprKind::kReadFlat;
  if (e.tensor < input_count_) {
    const TensorId tensor = inputs_[e.tensor];
    return is_flat ? read_flat_at(nodes_, space_, tensor, e.index[0])
                   : read_at(nodes_, space_, tensor, e.index);
  }
  const Computed& stage = stages_[e.tensor - input_count_];
  if (stage.value.number) return stage.value;
  std::vector<Polynomial> index;
  for (std::size_t d = 0; d < stage.has_dim.size(); ++d) {
    if (is_flat && !stage.has_dim[d]) {
      nodes_.fail(core::unsupported("a stage without a dimension is read flat"));
      return number_of(0);
    }
    if (!is_flat && stage.has_dim[d]) index.push_back(e.index[d]);
  }
  return is_flat ? read_flat_at(nodes_, space_, stage.value.tensor, e.index[0])
                 : read_at(nodes_, space_, stage.value.tensor, index);
}

Spread Lowering::sum_of_terms(const ExprNode& e) {
  std::vector<std::pair<double, Spread>> terms;
  for (const Expr& argument : e.arguments) {
    Product term;
    collect(argument, term);
    if (nodes_.error()) return number_of(0);
    const double sign = term.coefficient < 0 ? -1 : 1;
    term.coefficient *= sign;
    Spread x = number_of(term.coefficient);
    for (const Spread& factor : term.factors) x = ops_.times(x, factor);
    for (const Spread& divisor : term.divisors) x = ops_.over(x, divisor);
    terms.emplace_back(sign, with_masks(std::move(x), term.masks, 0));
  }
  std::ranges::stable_partition(terms, [](const auto& term) { return term.first > 0; });
  Spread sum = number_of(0);
  for (const auto& [sign, x] : terms) sum = sign > 0 ? ops_.plus(sum, x) : ops_.minus(sum, x);
  return sum;
}

/// Takes a product apart. A guard inside is one around the whole.
void Lowering::collect(const Expr& e, Product& product) {
  switch (e->kind) {
  case ExprKind::kNumber:
    product.coefficient *= real(e->number);
    return;
  case ExprKind::kMul:
    for (const Expr& argument : e->arguments) collect(argument, product);
    return;
  case ExprKind::kGuard:
    add_masks(e->constraints, product.masks);
    collect(e->arguments[0], product);
    return;
  case ExprKind::kInverse: {
    Spread divisor = value(e->arguments[0]);
    if (divisor.number)
      product.coefficient /= *divisor.number;
    else
      product.divisors.push_back(std::move(divisor));
    return;
  }
  default:
    Spread factor = value(e);
    if (factor.number)
      product.coefficient *= *factor.number;
    else
      product.factors.push_back(std::move(factor));
  }
}

Spread Lowering::product(const Expr& e) {
  Product product;
  collect(e, product);
  if (nodes_.error()) return number_of(0);
  // Small factors first: what they make is small, too.
  std::ranges::stable_sort(product.factors, [](const Spread& a, const Spread& b) {
    return a.axes.size() < b.axes.size();
  });
  Spread x = number_of(product.coefficient);
  for (const Spread& factor : product.factors) x = ops_.times(x, factor);
  for (const Spread& divisor : product.divisors) x = ops_.over(x, divisor);
  return with_masks(std::move(x), product.masks, 0);
}

// --- Conditions on indices ----------------------------------------------------------------------

void Lowering::add_masks(std::span<const Constraint> constraints, std::vector<IndexTable>& masks) {
  for (const Constraint& c : constraints) {
    auto table = space_.tabulate(std::span(&c, 1));
    if (!table) {
      nodes_.fail(core::unsupported("written with standard operators it takes a large mask"));
      return;
    }
    if (std::ranges::count(table->values, 0) == 0) continue;
    const auto same = std::ranges::find(masks, table->axes, &IndexTable::axes);
    if (same == masks.end()) {
      masks.push_back(*std::move(table));
      continue;
    }
    for (std::size_t k = 0; k < table->values.size(); ++k) same->values[k] &= table->values[k];
  }
}

Spread Lowering::with_masks(Spread x, const std::vector<IndexTable>& masks, double other) {
  for (const IndexTable& mask : masks)
    if (!nodes_.error()) x = ops_.masked(mask, x, other);
  return x;
}

void Lowering::mask_factors(std::vector<Spread>& factors, const std::vector<IndexTable>& masks) {
  for (const IndexTable& mask : masks) {
    Spread* smallest = nullptr;
    for (Spread& factor : factors) {
      const bool has_all = space_.united(factor.axes, mask.axes) == factor.axes;
      if (has_all && (!smallest || space_.count(factor.axes) < space_.count(smallest->axes)))
        smallest = &factor;
    }
    if (smallest)
      *smallest = ops_.masked(mask, *smallest, 0);
    else
      factors.push_back(ops_.constant(mask, ops_.type()));
    if (smallest && smallest->number) return;
  }
}

Spread Lowering::guarded(const ExprNode& e) {
  std::vector<IndexTable> masks;
  add_masks(e.constraints, masks);
  return with_masks(value(e.arguments[0]), masks, 0);
}

}  // namespace soapstone::ops
