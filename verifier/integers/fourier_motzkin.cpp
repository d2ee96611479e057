// Rows of a dense matrix: one column an unknown, the constant last. Numbers that outgrow 62 bits
// end the attempt.
#include "verifier/integers/fourier_motzkin.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace soapstone::verifier {
namespace {

constexpr std::size_t kMaxRows = 120;

using Row = std::vector<std::int64_t>;
__extension__ using Wide = __int128;

struct TooLarge {};

std::int64_t narrow(Wide value) {
  constexpr Wide kLimit = static_cast<Wide>(1) << 62;
  if (value >= kLimit || value <= -kLimit) throw TooLarge{};
  return static_cast<std::int64_t>(value);
}

class System {
 public:
  explicit System(std::span<const Fact> facts);
  Feasibility solve();

 private:
  std::int64_t divisor(const Row& row) const;
  bool eliminate_equations();
  bool add_inequality(Row row);
  std::size_t cheapest_column() const;
  bool eliminate(std::size_t column);

  std::size_t columns_ = 0;
  std::vector<Row> equations_;
  std::vector<Row> inequalities_;
};

System::System(std::span<const Fact> facts) {
  std::vector<Monomial> monomials;
  for (const Fact& fact : facts) {
    for (const Linear::Part& part : fact.expression.parts()) monomials.push_back(part.monomial);
  }
  std::sort(monomials.begin(), monomials.end());
  monomials.erase(std::unique(monomials.begin(), monomials.end()), monomials.end());
  columns_ = monomials.size();
  for (const Fact& fact : facts) {
    Row row(columns_ + 1);
    for (const Linear::Part& part : fact.expression.parts()) {
      const auto at = std::lower_bound(monomials.begin(), monomials.end(), part.monomial);
      row[static_cast<std::size_t>(at - monomials.begin())] = part.coefficient;
    }
    row[columns_] = fact.expression.constant();
    (fact.kind == Fact::Kind::kZero ? equations_ : inequalities_).push_back(std::move(row));
  }
}

std::int64_t System::divisor(const Row& row) const {
  std::int64_t result = 0;
  for (std::size_t c = 0; c < columns_; ++c) result = std::gcd(result, row[c]);
  return result;
}

/// Substitutes each equation into all other rows. False: a contradiction.
bool System::eliminate_equations() {
  while (!equations_.empty()) {
    Row equation = std::move(equations_.back());
    equations_.pop_back();
    const std::int64_t g = divisor(equation);
    if (g == 0) {
      if (equation[columns_] != 0) return false;
      continue;
    }
    if (equation[columns_] % g != 0) return false;
    for (std::int64_t& value : equation) value /= g;
    std::size_t pivot = columns_;
    for (std::size_t c = 0; c < columns_; ++c) {
      if (equation[c] == 0) continue;
      if (pivot == columns_ || std::abs(equation[c]) < std::abs(equation[pivot])) pivot = c;
    }
    const std::int64_t k = equation[pivot];
    const auto substitute = [&](Row& row) {
      const std::int64_t factor = k > 0 ? row[pivot] : -row[pivot];
      if (factor == 0) return;
      for (std::size_t c = 0; c <= columns_; ++c) {
        row[c] = narrow(static_cast<Wide>(std::abs(k)) * row[c] -
                        static_cast<Wide>(factor) * equation[c]);
      }
    };
    for (Row& row : equations_) substitute(row);
    for (Row& row : inequalities_) substitute(row);
  }
  return true;
}

/// Keeps the tightest of rows with equal coefficients. False: a contradiction.
bool System::add_inequality(Row row) {
  const std::int64_t g = divisor(row);
  if (g == 0) return row[columns_] >= 0;
  if (g > 1) {
    for (std::size_t c = 0; c < columns_; ++c) row[c] /= g;
    row[columns_] = floor_divide(row[columns_], g);
  }
  for (Row& other : inequalities_) {
    if (std::equal(row.begin(), row.end() - 1, other.begin())) {
      other[columns_] = std::min(other[columns_], row[columns_]);
      return true;
    }
  }
  inequalities_.push_back(std::move(row));
  return true;
}

std::size_t System::cheapest_column() const {
  std::size_t best = columns_;
  std::int64_t best_growth = 0;
  for (std::size_t c = 0; c < columns_; ++c) {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    for (const Row& row : inequalities_) {
      lower += row[c] > 0 ? 1 : 0;
      upper += row[c] < 0 ? 1 : 0;
    }
    if (lower + upper == 0) continue;
    const std::int64_t growth = lower * upper - lower - upper;
    if (best == columns_ || growth < best_growth) {
      best = c;
      best_growth = growth;
    }
  }
  return best;
}

/// Replaces the rows with that unknown by all sums of a lower and an upper bound that cancel it.
bool System::eliminate(std::size_t column) {
  std::vector<Row> lower;
  std::vector<Row> upper;
  std::vector<Row> rest;
  for (Row& row : inequalities_) {
    (row[column] > 0 ? lower : row[column] < 0 ? upper : rest).push_back(std::move(row));
  }
  inequalities_ = std::move(rest);
  for (const Row& low : lower) {
    for (const Row& high : upper) {
      Row sum(columns_ + 1);
      for (std::size_t c = 0; c <= columns_; ++c) {
        sum[c] = narrow(static_cast<Wide>(-high[column]) * low[c] +
                        static_cast<Wide>(low[column]) * high[c]);
      }
      if (!add_inequality(std::move(sum))) return false;
    }
  }
  return true;
}

Feasibility System::solve() {
  if (!eliminate_equations()) return Feasibility::kImpossible;
  std::vector<Row> rows = std::move(inequalities_);
  inequalities_.clear();
  for (Row& row : rows) {
    if (!add_inequality(std::move(row))) return Feasibility::kImpossible;
  }
  for (std::size_t column = cheapest_column(); column != columns_; column = cheapest_column()) {
    if (inequalities_.size() > kMaxRows) return Feasibility::kUnknown;
    if (!eliminate(column)) return Feasibility::kImpossible;
  }
  return Feasibility::kPossible;
}

}  // namespace

Feasibility fourier_motzkin(std::span<const Fact> facts) {
  try {
    return System(facts).solve();
  } catch (const TooLarge&) {
    return Feasibility::kUnknown;
  }
}

}  // namespace soapstone::verifier
