// Sums and maxima over index variables, which are gone from the result.
#include <algorithm>
#include <limits>

#include "ops/definition/indexing.h"
#include "ops/lowering/contraction.h"
#include "ops/lowering/equation_tables.h"
#include "ops/lowering/lowering.h"

namespace soapstone::ops {

namespace {

/// Finds the longest list of dimensions that an element in the expression is read at, as far as
/// each is a variable by itself.
void find_dimensions(const Expr& e, std::vector<Symbol>& longest) {
  if (e->kind == ExprKind::kRead && e->index.size() > longest.size()) {
    longest.clear();
    for (const Polynomial& index : e->index)
      if (const std::vector<Symbol> symbols = index.symbols();
          symbols.size() == 1 && index == Polynomial(symbols[0]))
        longest.push_back(symbols[0]);
  }
  for (const Expr& argument : e->arguments) find_dimensions(argument, longest);
  for (const Alternative& alternative : e->alternatives) find_dimensions(alternative.body, longest);
}

/// The variable of the space that the dimensions name first behind `variable`.
std::optional<Symbol> next_dimension(const IndexSpace& space, std::span<const Symbol> dimensions,
                                     Symbol variable) {
  const auto own = std::ranges::find(dimensions, variable);
  if (own == dimensions.end()) return std::nullopt;
  const auto next =
      std::find_if(own + 1, dimensions.end(), [&](Symbol other) { return space.has(other); });
  return next == dimensions.end() ? std::nullopt : std::optional(*next);
}

}  // namespace

/// Bounds that depend on other variables become conditions. Variables stand in the order of the
/// dimensions that they run over, so that nothing need be transposed to be added up.
void Lowering::declare(const std::vector<Binder>& binders, const Expr& body, Domain& domain) {
  std::vector<Symbol> dimensions;
  find_dimensions(body, dimensions);
  for (const Binder& b : binders) {
    const auto low = space_.tabulate(b.low), high = space_.tabulate(b.high);
    if (!low || !high) {
      nodes_.fail(core::unsupported("written with standard operators it takes large tables"));
      return;
    }
    const std::int64_t least = *std::ranges::min_element(low->values);
    const std::int64_t most = *std::ranges::max_element(high->values);
    space_.add(b.variable, least, std::max<std::int64_t>(most - least, 1),
               next_dimension(space_, dimensions, b.variable));
    if (most <= least || !low->axes.empty())
      domain.constraints.push_back(at_least(b.variable, b.low));
    if (most <= least || !high->axes.empty())
      domain.constraints.push_back(less(b.variable, b.high));
    domain.variables.push_back(b.variable);
  }
}

/// Sums inside of sums are one.
Lowering::Domain Lowering::enter(const Expr& e, bool solves) {
  Domain domain;
  domain.body = e;
  while (domain.body->kind == ExprKind::kSum || domain.body->kind == ExprKind::kGuard) {
    declare(domain.body->binders, domain.body->arguments[0], domain);
    const auto& more = domain.body->constraints;
    domain.constraints.insert(domain.constraints.end(), more.begin(), more.end());
    domain.body = domain.body->arguments[0];
  }
  if (solves) solve_equations(space_, domain.variables, domain.constraints, domain.masks);
  add_masks(domain.constraints, domain.masks);
  return domain;
}

Spread Lowering::sum(const Expr& e) {
  const Domain domain = enter(e, true);
  return nodes_.error() ? number_of(0) : summed(domain.body, domain);
}

Spread Lowering::summed(const Expr& body, const Domain& domain) {
  if (body->kind == ExprKind::kAdd) {
    Spread sum = number_of(0);
    for (const Expr& term : body->arguments) {
      const Spread part = summed(term, domain);
      if (nodes_.error()) return sum;
      sum = ops_.plus(sum, part);
    }
    return sum;
  }
  Product product;
  collect(body, product);
  if (nodes_.error()) return number_of(0);
  for (const Spread& divisor : product.divisors)
    product.factors.push_back(ops_.over(number_of(1), divisor));
  product.masks.insert(product.masks.end(), domain.masks.begin(), domain.masks.end());
  const auto is_summed = [&](const std::vector<Symbol>& axes) {
    return std::ranges::any_of(axes, [&](Symbol v) {
      return std::ranges::find(domain.variables, v) != domain.variables.end();
    });
  };
  std::vector<Spread> inside, outside;
  for (Spread& factor : product.factors)
    (is_summed(factor.axes) ? inside : outside).push_back(ops_.as(factor, ops_.type()));
  std::vector<IndexTable> inner, outer;
  for (const IndexTable& mask : product.masks)
    (is_summed(mask.axes) ? inner : outer).push_back(mask);
  if (nodes_.error()) return number_of(0);
  mask_factors(inside, inner);
  if (std::ranges::any_of(inside, [](const Spread& x) { return x.number.has_value(); }))
    return number_of(0);  // No place fits.
  Spread x = contract(nodes_, space_, ops_, std::move(inside), domain.variables);
  for (const Spread& factor : outside)
    if (!nodes_.error()) x = ops_.times(x, factor);
  if (nodes_.error()) return number_of(0);
  return with_masks(ops_.times(x, number_of(product.coefficient)), outer, 0);
}

Spread Lowering::maximum(const ExprNode& e) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  std::optional<Spread> largest;
  for (const Alternative& a : e.alternatives) {
    Domain domain;
    declare(a.binders, a.body, domain);
    domain.constraints.insert(domain.constraints.end(), a.constraints.begin(), a.constraints.end());
    add_masks(domain.constraints, domain.masks);
    Spread x = with_masks(value(a.body), domain.masks, kLowest);
    if (nodes_.error()) return number_of(0);
    if (!x.number) x = ops_.reduced("reduce_max", x, domain.variables);
    if (!largest)
      largest = x;
    else if (largest->number && x.number)
      largest = number_of(std::max(*largest->number, *x.number));
    else if (!nodes_.error())
      largest = ops_.binary("max", *largest, x);
  }
  return largest ? *largest : number_of(kLowest);
}

}  // namespace soapstone::ops
