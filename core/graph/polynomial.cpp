// Arithmetic on polynomials in canonical form: terms sorted by monomial, no zero coefficients.
// Every sum and product is checked for overflow; a wrapped size would be a wrong rewrite.
#include "core/graph/polynomial.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"

namespace soapstone::core {
namespace {

using Terms = std::vector<Polynomial::Term>;

bool by_monomial(const Polynomial::Term& a, const Polynomial::Term& b) {
  return a.monomial < b.monomial;
}

/// Joins equal neighbors of sorted terms and drops zeros. False: overflow.
bool join_equal(Terms& terms) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    std::int64_t sum = 0;
    std::size_t j = i;
    for (; j < terms.size() && terms[j].monomial == terms[i].monomial; ++j) {
      if (__builtin_add_overflow(sum, terms[j].coefficient, &sum)) return false;
    }
    if (sum != 0) {
      if (kept != i) terms[kept].monomial = std::move(terms[i].monomial);
      terms[kept++].coefficient = sum;
    }
    i = j;
  }
  terms.resize(kept);
  return true;
}

/// Appends factor * terms. False: overflow.
bool append_scaled(std::span<const Polynomial::Term> terms, std::int64_t factor, Terms& out) {
  for (const auto& term : terms) {
    std::int64_t coefficient;
    if (__builtin_mul_overflow(term.coefficient, factor, &coefficient)) return false;
    if (coefficient != 0) out.push_back({term.monomial, coefficient});
  }
  return true;
}

std::vector<Symbol> merge_monomials(const std::vector<Symbol>& a, const std::vector<Symbol>& b) {
  std::vector<Symbol> out(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin());
  return out;
}

}  // namespace

Polynomial::Polynomial(Symbol symbol)
    : terms_(std::make_shared<const Terms>(Terms{Term{{symbol}, 1}})) {}

Polynomial::Polynomial(std::int64_t constant, std::vector<Term> terms) : constant_(constant) {
  if (!terms.empty()) terms_ = std::make_shared<const Terms>(std::move(terms));
}

std::optional<std::int64_t> Polynomial::as_constant() const {
  if (terms_) return std::nullopt;
  return constant_;
}

std::span<const Polynomial::Term> Polynomial::terms() const {
  if (!terms_) return {};
  return *terms_;
}

std::int64_t Polynomial::coefficient(Symbol symbol) const {
  for (const Term& term : terms()) {
    if (term.monomial.size() == 1 && term.monomial[0] == symbol) return term.coefficient;
  }
  return 0;
}

bool Polynomial::mentions(Symbol symbol) const {
  return std::any_of(terms().begin(), terms().end(), [&](const Term& term) {
    return std::binary_search(term.monomial.begin(), term.monomial.end(), symbol);
  });
}

std::vector<Symbol> Polynomial::symbols() const {
  std::vector<Symbol> all;
  for (const Term& term : terms()) {
    all.insert(all.end(), term.monomial.begin(), term.monomial.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::optional<Polynomial> Polynomial::checked_add(const Polynomial& a, const Polynomial& b) {
  std::int64_t constant;
  if (__builtin_add_overflow(a.constant_, b.constant_, &constant)) return std::nullopt;
  if (!a.terms_ && !b.terms_) return constant;
  if (!a.terms_ || !b.terms_) {
    Polynomial sum = a.terms_ ? a : b;
    sum.constant_ = constant;
    return sum;
  }
  Terms all(a.terms_->size() + b.terms_->size());
  std::merge(a.terms_->begin(), a.terms_->end(), b.terms_->begin(), b.terms_->end(), all.begin(),
             by_monomial);
  if (!join_equal(all)) return std::nullopt;
  return Polynomial(constant, std::move(all));
}

std::optional<Polynomial> Polynomial::checked_multiply(const Polynomial& a, const Polynomial& b) {
  std::int64_t constant;
  if (__builtin_mul_overflow(a.constant_, b.constant_, &constant)) return std::nullopt;
  if (!a.terms_ && !b.terms_) return constant;
  for (const auto& [factor, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (*factor == Polynomial(1)) return *other;
  Terms all;
  if (!append_scaled(a.terms(), b.constant_, all) || !append_scaled(b.terms(), a.constant_, all)) {
    return std::nullopt;
  }
  for (const Term& left : a.terms()) {
    for (const Term& right : b.terms()) {
      std::int64_t coefficient;
      if (__builtin_mul_overflow(left.coefficient, right.coefficient, &coefficient)) {
        return std::nullopt;
      }
      all.push_back({merge_monomials(left.monomial, right.monomial), coefficient});
    }
  }
  std::sort(all.begin(), all.end(), by_monomial);
  if (!join_equal(all)) return std::nullopt;
  return Polynomial(constant, std::move(all));
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  auto sum = Polynomial::checked_add(a, b);
  CHECK(sum, "sum of sizes overflows");
  return *std::move(sum);
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  auto product = Polynomial::checked_multiply(a, b);
  CHECK(product, "product of sizes overflows");
  return *std::move(product);
}

Polynomial Polynomial::operator-() const { return *this * Polynomial(-1); }

Polynomial operator-(const Polynomial& a, const Polynomial& b) {
  return a == b ? Polynomial(0) : a + -b;
}

bool operator==(const Polynomial& a, const Polynomial& b) {
  if (a.constant_ != b.constant_) return false;
  if (a.terms_ == b.terms_) return true;
  return a.terms_ && b.terms_ && *a.terms_ == *b.terms_;
}

std::strong_ordering operator<=>(const Polynomial& a, const Polynomial& b) {
  if (a.terms_ != b.terms_) {
    const auto left = a.terms(), right = b.terms();
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (auto order = left[i].monomial <=> right[i].monomial; order != 0) return order;
      if (auto order = left[i].coefficient <=> right[i].coefficient; order != 0) return order;
    }
    if (auto order = left.size() <=> right.size(); order != 0) return order;
  }
  return a.constant_ <=> b.constant_;
}

Polynomial
Polynomial::substitute(const std::function<std::optional<Polynomial>(Symbol)>& value_of) const {
  if (!terms_) return *this;
  Polynomial sum = constant_;
  for (const Term& term : *terms_) {
    Polynomial product = term.coefficient;
    for (Symbol symbol : term.monomial) {
      product *= value_of(symbol).value_or(Polynomial(symbol));
    }
    sum += product;
  }
  return sum;
}

std::optional<std::int64_t>
Polynomial::checked_evaluate(const std::function<std::int64_t(Symbol)>& value_of) const {
  std::int64_t sum = constant_;
  for (const Term& term : terms()) {
    std::int64_t product = term.coefficient;
    for (Symbol symbol : term.monomial) {
      if (__builtin_mul_overflow(product, value_of(symbol), &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::int64_t Polynomial::evaluate(const std::function<std::int64_t(Symbol)>& value_of) const {
  const auto value = checked_evaluate(value_of);
  CHECK(value, "value of a size overflows");
  return *value;
}

std::uint64_t Polynomial::hash() const {
  std::uint64_t hash = hash_combine(terms().size(), static_cast<std::uint64_t>(constant_));
  for (const Term& term : terms()) {
    hash = hash_combine(hash, static_cast<std::uint64_t>(term.coefficient));
    hash = hash_combine(hash, term.monomial.size());
    for (Symbol symbol : term.monomial) hash = hash_combine(hash, symbol.id);
  }
  return hash;
}

}  // namespace soapstone::core
