// Index arithmetic shared by the operator families: products of sizes, broadcasting, row-major
// positions. Nothing here looks at the value of a size except a literal 1.
#include "ops/definition/indexing.h"

#include <algorithm>

namespace soapstone::ops {

Polynomial product(std::span<const Polynomial> factors) {
  Polynomial result = 1;
  for (const Polynomial& factor : factors) result *= factor;
  return result;
}

std::optional<Polynomial> checked_product(std::span<const Polynomial> factors) {
  std::optional<Polynomial> result = 1;
  for (const Polynomial& factor : factors)
    if (result) result = Polynomial::checked_multiply(*result, factor);
  return result;
}

Expr size_value(const Polynomial& size) {
  if (auto value = size.as_constant()) return number(Rational{*value, 1});
  return index_value(size);
}

Index broadcast_index(const Shape& input, const Index& index) {
  Index result(index.end() - static_cast<std::ptrdiff_t>(input.size()), index.end());
  for (std::size_t d = 0; d < input.size(); ++d)
    if (input[d] == Polynomial(1)) result[d] = 0;
  return result;
}

Expr read_broadcast(std::uint32_t tensor, const Shape& input, const Index& index) {
  return read(tensor, broadcast_index(input, index));
}

Expr wrapped_index(Expr index, const Polynomial& size) {
  const Expr from_end = index + size_value(size);
  Expr is_negative = apply(Function::kLess, {index, number(Rational{0, 1})});
  return apply(Function::kSelect, {std::move(is_negative), from_end, std::move(index)});
}

Polynomial flat_position(const Shape& shape, const Index& index) {
  Polynomial position = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

std::optional<Polynomial> divide_exactly(const Polynomial& value, std::int64_t divisor) {
  if (value.constant() % divisor != 0) return std::nullopt;
  Polynomial quotient = value.constant() / divisor;
  for (const Polynomial::Term& term : value.terms()) {
    if (term.coefficient % divisor != 0) return std::nullopt;
    Polynomial part = term.coefficient / divisor;
    for (Symbol symbol : term.monomial) part *= Polynomial(symbol);
    quotient += part;
  }
  return quotient;
}

std::vector<Polynomial> without(const std::vector<Polynomial>& values,
                                std::span<const std::size_t> dropped) {
  std::vector<Polynomial> rest;
  for (std::size_t d = 0; d < values.size(); ++d)
    if (!std::binary_search(dropped.begin(), dropped.end(), d)) rest.push_back(values[d]);
  return rest;
}

std::vector<Polynomial> to_sizes(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace soapstone::ops
