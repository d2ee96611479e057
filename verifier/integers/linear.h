// Integer index expressions of the prover: sums of integer coefficients times products of symbols.
// A flat twin of core::Polynomial, made for the millions of small sums that a proof adds up.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/polynomial.h"

namespace soapstone::verifier {

/// The largest integer that is at most a/b. Precondition: b > 0.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

using core::Symbol;

/// The proof ran out of its budget, or needs numbers beyond what it computes with. Caught by
/// prove(); the verdict is then `unknown`.
struct OutOfBudget {
  std::string reason;
};

/// A product of up to six symbols. Longer ones end the proof.
class Monomial {
 public:
  static constexpr std::size_t kMaxDegree = 6;
  Monomial() = default;
  explicit Monomial(Symbol symbol) { keys_[0] = symbol.id + 1; }

  std::size_t degree() const;
  Symbol symbol(std::size_t k) const { return {keys_[k] - 1}; }
  bool contains(Symbol symbol) const;
  friend Monomial operator*(const Monomial& a, const Monomial& b);
  /// This without the factors of `other`, if it has them all.
  std::optional<Monomial> divided_by(const Monomial& other) const;
  std::uint64_t hash() const;
  auto operator<=>(const Monomial&) const = default;

 private:
  std::array<std::uint32_t, kMaxDegree> keys_{};  // id + 1, ascending, then zeros
};

class Linear;
/// Values of symbols; a short list, so it is searched in order.
using Substitution = std::vector<std::pair<Symbol, Linear>>;

class Linear {
 public:
  struct Part {
    Monomial monomial;
    std::int64_t coefficient = 0;
    bool operator==(const Part&) const = default;
    auto operator<=>(const Part&) const = default;
  };

  Linear(std::int64_t constant = 0) : constant_(constant) {}  // a number is an expression
  Linear(Symbol symbol) : parts_{{Monomial(symbol), 1}} {}
  explicit Linear(const core::Polynomial& polynomial);
  static Linear product(const Monomial& monomial, std::int64_t coefficient);

  bool is_constant() const { return parts_.empty(); }
  std::int64_t constant() const { return constant_; }
  std::span<const Part> parts() const { return parts_; }
  /// The coefficient of the symbol alone; products with it do not count.
  std::int64_t coefficient(Symbol symbol) const;
  bool mentions(Symbol symbol) const;
  /// It occurs, and in no product.
  bool is_linear_in(Symbol symbol) const;
  void append_symbols(std::vector<Symbol>& out) const;
  /// The symbol, if that is all there is.
  std::optional<Symbol> as_symbol() const;

  friend Linear operator+(const Linear& a, const Linear& b);
  friend Linear operator-(const Linear& a, const Linear& b);
  friend Linear operator*(const Linear& a, const Linear& b);
  Linear operator-() const { return scaled(-1); }
  Linear scaled(std::int64_t factor) const;
  /// The greatest common divisor of all coefficients and the constant; 0 for 0.
  std::int64_t common_divisor() const;
  /// Precondition: divides every coefficient and the constant.
  Linear divided(std::int64_t divisor) const;
  Linear substitute(const Substitution& substitution) const;
  std::int64_t evaluate(const std::vector<std::pair<Symbol, std::int64_t>>& values) const;

  std::uint64_t hash() const;
  bool operator==(const Linear&) const = default;
  std::strong_ordering operator<=>(const Linear& other) const;
  std::string to_string() const;

 private:
  friend struct LinearAccess;
  std::int64_t constant_ = 0;
  std::vector<Part> parts_;  // ascending by monomial, no zero coefficients
};

/// `expression` ≥ 0 or = 0, over the integers. Divided by the common divisor of its coefficients,
/// the constant rounded down; equations lead with a positive coefficient. Equal facts compare
/// equal.
struct Fact {
  enum class Kind : std::uint8_t { kNonNegative, kZero };
  Kind kind = Kind::kNonNegative;
  Linear expression;

  /// If no symbol is left.
  std::optional<bool> truth() const;
  Fact substitute(const Substitution& substitution) const;
  /// Facts of which one must hold where this does not.
  std::vector<Fact> negation() const;
  bool mentions_any(std::span<const Symbol> symbols) const;
  std::uint64_t hash() const;
  bool operator==(const Fact&) const = default;
  std::strong_ordering operator<=>(const Fact& other) const;
};
Fact at_least(const Linear& a, const Linear& b);
Fact less(const Linear& a, const Linear& b);
Fact equal(const Linear& a, const Linear& b);

/// Sorted, without repetition.
using FactSet = std::vector<Fact>;
void insert(FactSet& set, Fact fact);
bool contains(const FactSet& set, const Fact& fact);
FactSet unite(const FactSet& a, const FactSet& b);

}  // namespace soapstone::verifier
