// Integer polynomials over symbols: tensor sizes, attribute values and index expressions are all
// of this one type. A constant costs no allocation; everything else is immutable and shared.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::core {

/// A named integer unknown. Sizes are numbered from 0 by a SymbolTable; index variables of
/// comprehensions from kFirstIndex, so the two never meet.
struct Symbol {
  static constexpr std::uint32_t kFirstIndex = 1u << 31;
  std::uint32_t id = 0;
  static constexpr Symbol index(std::uint32_t k) { return {kFirstIndex + k}; }
  constexpr bool is_index() const { return id >= kFirstIndex; }
  constexpr auto operator<=>(const Symbol&) const = default;
};

/// Names of the size symbols of one graph or rule.
class SymbolTable {
 public:
  /// The symbol of that name, added if it is new.
  Symbol intern(std::string_view name);
  std::optional<Symbol> find(std::string_view name) const;
  const std::string& name(Symbol symbol) const;
  std::size_t size() const { return names_.size(); }
  bool operator==(const SymbolTable&) const = default;

 private:
  std::vector<std::string> names_;
};

/// A sum of integer coefficients times products of symbols, kept in canonical order, so that equal
/// polynomials compare equal.
class Polynomial {
 public:
  struct Term {
    std::vector<Symbol> monomial;  ///< Sorted, with repetition, never empty.
    std::int64_t coefficient = 0;  ///< Never zero.
    bool operator==(const Term&) const = default;
  };

  Polynomial(std::int64_t constant = 0) : constant_(constant) {}  // a number is a size
  Polynomial(Symbol symbol);

  bool is_constant() const { return terms_ == nullptr; }
  /// The additive constant; the whole value if is_constant().
  std::int64_t constant() const { return constant_; }
  std::optional<std::int64_t> as_constant() const;
  /// Everything but the constant, in canonical order (by monomial).
  std::span<const Term> terms() const;
  /// Coefficient of the monomial that is `symbol` alone.
  std::int64_t coefficient(Symbol symbol) const;
  bool mentions(Symbol symbol) const;
  /// All symbols that occur, sorted, each once.
  std::vector<Symbol> symbols() const;

  Polynomial operator-() const;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  Polynomial& operator+=(const Polynomial& other) { return *this = *this + other; }
  Polynomial& operator*=(const Polynomial& other) { return *this = *this * other; }
  /// The same for numbers that a user chose. None: a coefficient does not fit into 64 bits. (The
  /// operators take that for a broken invariant.)
  static std::optional<Polynomial> checked_add(const Polynomial& a, const Polynomial& b);
  static std::optional<Polynomial> checked_multiply(const Polynomial& a, const Polynomial& b);
  friend bool operator==(const Polynomial& a, const Polynomial& b);
  /// A total order that is the same in every run.
  friend std::strong_ordering operator<=>(const Polynomial& a, const Polynomial& b);

  /// Replaces each symbol for which `value_of` answers; others stay.
  Polynomial substitute(const std::function<std::optional<Polynomial>(Symbol)>& value_of) const;
  /// The number it comes to. Preconditions: `value_of` knows every symbol; no overflow.
  std::int64_t evaluate(const std::function<std::int64_t(Symbol)>& value_of) const;
  /// The same for values that a user chose. None: it does not fit into 64 bits.
  std::optional<std::int64_t>
  checked_evaluate(const std::function<std::int64_t(Symbol)>& value_of) const;

  std::uint64_t hash() const;
  /// `2*n*m + p - 1`; index variables print as `i0`, `i1`, …, a name that is not
  /// an identifier as `$"…"`.
  std::string to_string(const SymbolTable& names) const;

 private:
  /// `terms` are canonical.
  Polynomial(std::int64_t constant, std::vector<Term> terms);

  std::int64_t constant_ = 0;
  std::shared_ptr<const std::vector<Term>> terms_;  // null: a constant
};

}  // namespace soapstone::core
