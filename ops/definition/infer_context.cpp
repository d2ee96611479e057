// The shape rules' questions, answered at once on numbers and recorded on symbols.
#include "ops/definition/infer_context.h"

#include <fmt/format.h>

#include <algorithm>

namespace soapstone::ops {
namespace {

/// The polynomial in messages. The context has no symbol table, so symbols print by number.
std::string describe(const Polynomial& p) {
  if (p.is_constant()) return fmt::format("{}", p.constant());
  core::SymbolTable names;
  const auto symbols = p.symbols();
  for (core::Symbol s : symbols) names.intern(fmt::format("s{}", s.id));
  const auto renumbered = p.substitute([&](core::Symbol s) -> std::optional<Polynomial> {
    const auto at = std::lower_bound(symbols.begin(), symbols.end(), s) - symbols.begin();
    return Polynomial(core::Symbol{static_cast<std::uint32_t>(at)});
  });
  return renumbered.to_string(names);
}

std::int64_t floor_of(std::int64_t a, std::int64_t divisor) {
  return a / divisor - (a % divisor < 0 ? 1 : 0);
}

/// a = divisor · quotient + remainder with all coefficients of the remainder in [0, divisor).
/// ⌊a / divisor⌋ is then quotient + ⌊remainder / divisor⌋, so equal questions look alike.
std::pair<Polynomial, Polynomial> split_multiples(const Polynomial& a, std::int64_t divisor) {
  Polynomial quotient = floor_of(a.constant(), divisor);
  for (const auto& term : a.terms()) {
    Polynomial monomial = floor_of(term.coefficient, divisor);
    for (core::Symbol s : term.monomial) monomial *= Polynomial(s);
    quotient += monomial;
  }
  return {quotient, a - quotient * Polynomial(divisor)};
}

bool is_one(const Polynomial& p) { return p == Polynomial(1); }

}  // namespace

InferContext::InferContext(const core::Attributes& attributes, std::span<const TensorType> inputs,
                           std::string op_name)
    : attributes_(attributes), inputs_(inputs), op_name_(std::move(op_name)) {}

bool InferContext::has_input(std::size_t k) const {
  return k < inputs_.size() && inputs_[k].shape_known;
}

bool InferContext::require(bool condition, std::string_view label, std::string message) {
  if (!condition && !failed_) {
    failed_ = true;
    error_ = core::invalid_input(fmt::format("{}: {} [{}]", op_name_, message, label));
  }
  return !failed_;
}

bool InferContext::require_rank(std::size_t k, std::size_t rank, std::string_view label) {
  if (failed_) return false;
  if (!has_input(k)) return require(false, label, fmt::format("input {} is missing", k));
  const std::size_t found = inputs_[k].shape.size();
  if (found == rank) return true;
  return require(false, label,
                 fmt::format("input {} must have {} dimensions but has {}", k, rank, found));
}

bool InferContext::require_equal(const Polynomial& a, const Polynomial& b, std::string_view label) {
  if (failed_) return false;
  const Polynomial difference = a - b;
  if (auto value = difference.as_constant()) {
    if (*value == 0) return true;
    return require(false, label,
                   fmt::format("sizes must be equal but are {} and {}", describe(a), describe(b)));
  }
  constraints_.push_back({SizeConstraint::Kind::kZero, difference, std::string(label)});
  return true;
}

bool InferContext::require_at_least(const Polynomial& a, const Polynomial& b,
                                    std::string_view label) {
  if (failed_) return false;
  const Polynomial difference = a - b;
  if (auto value = difference.as_constant()) {
    if (*value >= 0) return true;
    return require(false, label, fmt::format("{} must be at least {}", describe(a), describe(b)));
  }
  constraints_.push_back({SizeConstraint::Kind::kNonNegative, difference, std::string(label)});
  return true;
}

Polynomial InferContext::floor_div(const Polynomial& a, std::int64_t divisor) {
  CHECK(divisor > 0, op_name_ + ": divisor must be positive");
  auto [quotient, remainder] = split_multiples(a, divisor);
  if (remainder.is_constant()) return quotient;
  for (const DerivedSize& d : derived_)
    if (d.kind == DerivedSize::Kind::kFloorDiv && d.divisor == divisor && d.numerator == remainder)
      return quotient + Polynomial(d.symbol);
  const core::Symbol symbol = next_derived_;
  ++next_derived_.id;
  derived_.push_back({DerivedSize::Kind::kFloorDiv, symbol, std::move(remainder), divisor});
  return quotient + Polynomial(symbol);
}

Polynomial InferContext::ceil_div(const Polynomial& a, std::int64_t divisor) {
  return floor_div(a + Polynomial(divisor - 1), divisor);
}

Polynomial InferContext::max_zero(const Polynomial& a) {
  if (auto value = a.as_constant()) return Polynomial(std::max<std::int64_t>(0, *value));
  for (const DerivedSize& d : derived_)
    if (d.kind == DerivedSize::Kind::kMaxZero && d.numerator == a) return Polynomial(d.symbol);
  const core::Symbol symbol = next_derived_;
  ++next_derived_.id;
  derived_.push_back({DerivedSize::Kind::kMaxZero, symbol, a, 1});
  return Polynomial(symbol);
}

std::vector<TensorType>
InferContext::infer_with(const std::function<std::vector<TensorType>(InferContext&)>& rule,
                         std::span<const TensorType> inputs, std::string op_name) {
  InferContext inner(attributes_, inputs, std::move(op_name));
  inner.next_derived_ = next_derived_;
  std::vector<TensorType> results = rule(inner);
  if (inner.failed_ && !failed_) {
    failed_ = true;
    error_ = std::move(inner.error_);
  }
  constraints_.insert(constraints_.end(), inner.constraints_.begin(), inner.constraints_.end());
  derived_.insert(derived_.end(), inner.derived_.begin(), inner.derived_.end());
  next_derived_ = inner.next_derived_;
  return results;
}

Shape InferContext::broadcast(const Shape& a, const Shape& b, std::string_view label) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t k = 1; k <= result.size(); ++k) {  // from the last dimension on
    const Polynomial& x = k <= a.size() ? a[a.size() - k] : Polynomial(1);
    const Polynomial& y = k <= b.size() ? b[b.size() - k] : Polynomial(1);
    result[result.size() - k] = is_one(x) ? y : x;
    if (!is_one(x) && !is_one(y) && !require_equal(x, y, label)) break;
  }
  return result;
}

}  // namespace soapstone::ops
