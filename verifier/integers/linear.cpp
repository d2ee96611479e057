// Arithmetic of index expressions. Everything is checked for overflow: a wrapped coefficient would
// be a wrong proof.
#include "verifier/integers/linear.h"

#include <algorithm>
#include <numeric>

#include "core/base/hash.h"

namespace soapstone::verifier {
namespace {

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw OutOfBudget{"integer overflow"};
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw OutOfBudget{"integer overflow"};
  return product;
}

}  // namespace

std::size_t Monomial::degree() const {
  std::size_t count = 0;
  while (count < kMaxDegree && keys_[count] != 0) ++count;
  return count;
}

bool Monomial::contains(Symbol symbol) const {
  return std::find(keys_.begin(), keys_.end(), symbol.id + 1) != keys_.end();
}

Monomial operator*(const Monomial& a, const Monomial& b) {
  const std::size_t degree_a = a.degree();
  const std::size_t degree_b = b.degree();
  if (degree_a + degree_b > Monomial::kMaxDegree) throw OutOfBudget{"product of too many sizes"};
  Monomial result;
  std::merge(a.keys_.begin(), a.keys_.begin() + degree_a, b.keys_.begin(),
             b.keys_.begin() + degree_b, result.keys_.begin());
  return result;
}

std::optional<Monomial> Monomial::divided_by(const Monomial& other) const {
  Monomial result;
  const std::size_t own = degree();
  const std::size_t others = other.degree();
  std::size_t k = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < own; ++i) {
    if (k < others && keys_[i] == other.keys_[k]) {
      ++k;
    } else {
      result.keys_[kept++] = keys_[i];
    }
  }
  if (k != others) return std::nullopt;
  return result;
}

std::uint64_t Monomial::hash() const {
  std::uint64_t hash = 0;
  for (std::uint32_t key : keys_) {
    if (key == 0) break;
    hash = core::hash_combine(hash, key);
  }
  return hash;
}

Linear::Linear(const core::Polynomial& polynomial) : constant_(polynomial.constant()) {
  for (const core::Polynomial::Term& term : polynomial.terms()) {
    Monomial monomial;
    for (Symbol symbol : term.monomial) monomial = monomial * Monomial(symbol);
    parts_.push_back({monomial, term.coefficient});
  }
  std::sort(parts_.begin(), parts_.end());
}

Linear Linear::product(const Monomial& monomial, std::int64_t coefficient) {
  if (monomial.degree() == 0) return coefficient;
  Linear result;
  if (coefficient != 0) result.parts_.push_back({monomial, coefficient});
  return result;
}

std::int64_t Linear::coefficient(Symbol symbol) const {
  const Monomial wanted(symbol);
  for (const Part& part : parts_) {
    if (part.monomial == wanted) return part.coefficient;
  }
  return 0;
}

bool Linear::mentions(Symbol symbol) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.monomial.contains(symbol); });
}

bool Linear::is_linear_in(Symbol symbol) const {
  const Monomial alone(symbol);
  bool occurs = false;
  for (const Part& part : parts_) {
    if (!part.monomial.contains(symbol)) continue;
    if (part.monomial != alone) return false;
    occurs = true;
  }
  return occurs;
}

void Linear::append_symbols(std::vector<Symbol>& out) const {
  for (const Part& part : parts_) {
    for (std::size_t k = 0; k < part.monomial.degree(); ++k) out.push_back(part.monomial.symbol(k));
  }
}

std::optional<Symbol> Linear::as_symbol() const {
  if (constant_ != 0 || parts_.size() != 1 || parts_[0].coefficient != 1 ||
      parts_[0].monomial.degree() != 1) {
    return std::nullopt;
  }
  return parts_[0].monomial.symbol(0);
}

Linear operator+(const Linear& a, const Linear& b) {
  Linear result(checked_add(a.constant_, b.constant_));
  result.parts_.reserve(a.parts_.size() + b.parts_.size());
  auto x = a.parts_.begin();
  auto y = b.parts_.begin();
  while (x != a.parts_.end() || y != b.parts_.end()) {
    if (y == b.parts_.end() || (x != a.parts_.end() && x->monomial < y->monomial)) {
      result.parts_.push_back(*x++);
    } else if (x == a.parts_.end() || y->monomial < x->monomial) {
      result.parts_.push_back(*y++);
    } else {
      const std::int64_t sum = checked_add(x->coefficient, y->coefficient);
      if (sum != 0) result.parts_.push_back({x->monomial, sum});
      ++x;
      ++y;
    }
  }
  return result;
}

Linear operator-(const Linear& a, const Linear& b) { return a + b.scaled(-1); }

Linear operator*(const Linear& a, const Linear& b) {
  if (a.is_constant()) return b.scaled(a.constant_);
  if (b.is_constant()) return a.scaled(b.constant_);
  Linear result = a.scaled(b.constant_) + b.scaled(a.constant_) -
                  Linear(checked_multiply(a.constant_, b.constant_));
  for (const Linear::Part& x : a.parts_) {
    for (const Linear::Part& y : b.parts_) {
      result = result + Linear::product(x.monomial * y.monomial,
                                        checked_multiply(x.coefficient, y.coefficient));
    }
  }
  return result;
}

Linear Linear::scaled(std::int64_t factor) const {
  if (factor == 0) return 0;
  Linear result(checked_multiply(constant_, factor));
  result.parts_ = parts_;
  for (Part& part : result.parts_) part.coefficient = checked_multiply(part.coefficient, factor);
  return result;
}

std::int64_t Linear::common_divisor() const {
  std::int64_t divisor = constant_;
  for (const Part& part : parts_) divisor = std::gcd(divisor, part.coefficient);
  return divisor;
}

Linear Linear::divided(std::int64_t divisor) const {
  Linear result(constant_ / divisor);
  result.parts_ = parts_;
  for (Part& part : result.parts_) part.coefficient /= divisor;
  return result;
}

Linear Linear::substitute(const Substitution& substitution) const {
  const auto value_of = [&](Symbol symbol) -> const Linear* {
    for (const auto& [name, value] : substitution) {
      if (name == symbol) return &value;
    }
    return nullptr;
  };
  Linear kept(constant_);
  std::vector<const Part*> replaced;
  for (const Part& part : parts_) {
    bool touched = false;
    for (std::size_t k = 0; k < part.monomial.degree() && !touched; ++k) {
      touched = value_of(part.monomial.symbol(k)) != nullptr;
    }
    if (touched) {
      replaced.push_back(&part);
    } else {
      kept.parts_.push_back(part);
    }
  }
  for (const Part* part : replaced) {
    Linear product(part->coefficient);
    for (std::size_t k = 0; k < part->monomial.degree(); ++k) {
      const Symbol symbol = part->monomial.symbol(k);
      const Linear* value = value_of(symbol);
      product = product * (value != nullptr ? *value : Linear(symbol));
    }
    kept = kept + product;
  }
  return kept;
}

std::int64_t Linear::evaluate(const std::vector<std::pair<Symbol, std::int64_t>>& values) const {
  std::int64_t result = constant_;
  for (const Part& part : parts_) {
    std::int64_t product = part.coefficient;
    for (std::size_t k = 0; k < part.monomial.degree(); ++k) {
      const Symbol symbol = part.monomial.symbol(k);
      const auto found = std::find_if(values.begin(), values.end(),
                                      [&](const auto& entry) { return entry.first == symbol; });
      CHECK(found != values.end(), "a symbol without a value");
      product = checked_multiply(product, found->second);
    }
    result = checked_add(result, product);
  }
  return result;
}

std::uint64_t Linear::hash() const {
  std::uint64_t hash = static_cast<std::uint64_t>(constant_);
  for (const Part& part : parts_) {
    hash = core::hash_combine(hash, part.monomial.hash());
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(part.coefficient));
  }
  return hash;
}

std::strong_ordering Linear::operator<=>(const Linear& other) const {
  if (const auto order = std::lexicographical_compare_three_way(
          parts_.begin(), parts_.end(), other.parts_.begin(), other.parts_.end());
      order != std::strong_ordering::equal) {
    return order;
  }
  return constant_ <=> other.constant_;
}

std::string Linear::to_string() const {
  std::string text;
  for (const Part& part : parts_) {
    const std::int64_t c = part.coefficient;
    text += c < 0 ? "-" : (text.empty() ? "" : "+");
    if (c != 1 && c != -1) text += std::to_string(c < 0 ? -c : c) + "*";
    for (std::size_t k = 0; k < part.monomial.degree(); ++k) {
      text += (k == 0 ? "v" : "*v") + std::to_string(part.monomial.symbol(k).id);
    }
  }
  if (constant_ != 0 || text.empty()) {
    text += (constant_ >= 0 && !text.empty() ? "+" : "") + std::to_string(constant_);
  }
  return text;
}

std::optional<bool> Fact::truth() const {
  if (!expression.is_constant()) return std::nullopt;
  return kind == Kind::kZero ? expression.constant() == 0 : expression.constant() >= 0;
}

namespace {

std::int64_t common_divisor(const Linear& expression) {
  std::int64_t divisor = 0;
  for (const Linear::Part& part : expression.parts()) {
    divisor = std::gcd(divisor, part.coefficient);
  }
  return divisor;
}

/// Σ cᵢ·mᵢ + c ≥ 0 holds for integers exactly if Σ (cᵢ/g)·mᵢ + ⌊c/g⌋ ≥ 0 does.
Fact tightened(Linear expression) {
  const std::int64_t divisor = common_divisor(expression);
  if (divisor > 1) {
    const std::int64_t constant = expression.constant();
    expression = (expression - constant).divided(divisor) + floor_divide(constant, divisor);
  }
  return {Fact::Kind::kNonNegative, std::move(expression)};
}

Fact reduced_equation(Linear expression) {
  const std::int64_t divisor = common_divisor(expression);
  if (divisor > 1 && expression.constant() % divisor == 0) expression = expression.divided(divisor);
  if (!expression.is_constant() && expression.parts()[0].coefficient < 0) expression = -expression;
  return {Fact::Kind::kZero, std::move(expression)};
}

}  // namespace

Fact at_least(const Linear& a, const Linear& b) { return tightened(a - b); }
Fact less(const Linear& a, const Linear& b) { return tightened(b - a - 1); }
Fact equal(const Linear& a, const Linear& b) { return reduced_equation(a - b); }

Fact Fact::substitute(const Substitution& substitution) const {
  Linear replaced = expression.substitute(substitution);
  if (replaced == expression) return *this;
  return kind == Kind::kZero ? reduced_equation(std::move(replaced))
                             : tightened(std::move(replaced));
}

std::vector<Fact> Fact::negation() const {
  if (kind == Kind::kNonNegative) return {tightened(-expression - 1)};
  return {tightened(expression - 1), tightened(-expression - 1)};
}

bool Fact::mentions_any(std::span<const Symbol> symbols) const {
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](Symbol symbol) { return expression.mentions(symbol); });
}

std::uint64_t Fact::hash() const {
  return core::hash_combine(expression.hash(), static_cast<std::uint64_t>(kind));
}

std::strong_ordering Fact::operator<=>(const Fact& other) const {
  if (const auto order = kind <=> other.kind; order != std::strong_ordering::equal) return order;
  return expression <=> other.expression;
}

void insert(FactSet& set, Fact fact) {
  const auto at = std::lower_bound(set.begin(), set.end(), fact);
  if (at == set.end() || *at != fact) set.insert(at, std::move(fact));
}

bool contains(const FactSet& set, const Fact& fact) {
  return std::binary_search(set.begin(), set.end(), fact);
}

FactSet unite(const FactSet& a, const FactSet& b) {
  FactSet result;
  result.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

}  // namespace soapstone::verifier
