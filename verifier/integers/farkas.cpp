// Weights λ ≥ 0 with Σ λᵢ·factᵢ = −1 are the solution of a linear program; its first phase finds
// one. Bland's rule keeps it from going round in circles, as nearly all right sides are 0.
#include "verifier/integers/farkas.h"

#include <algorithm>
#include <cmath>

namespace soapstone::verifier {
namespace {

constexpr double kEpsilon = 1e-9;
constexpr int kMostPivots = 400;

class Simplex {
 public:
  explicit Simplex(std::span<const Fact> facts);
  std::vector<Fact> solve();

 private:
  struct Column {
    std::size_t fact;
    double sign;
  };
  bool step();
  void pivot(std::size_t row, std::size_t column);

  std::span<const Fact> facts_;
  std::vector<Column> columns_;
  std::vector<std::vector<double>> rows_;  ///< Last: the right side.
  std::vector<double> cost_;               ///< Reduced costs of the artificial unknowns.
  std::vector<std::size_t> basis_;         ///< From columns_.size() on: artificial.
};

Simplex::Simplex(std::span<const Fact> facts) : facts_(facts) {
  std::vector<Monomial> monomials;
  for (const Fact& fact : facts) {
    for (const Linear::Part& part : fact.expression.parts()) monomials.push_back(part.monomial);
  }
  std::sort(monomials.begin(), monomials.end());
  monomials.erase(std::unique(monomials.begin(), monomials.end()), monomials.end());
  for (std::size_t k = 0; k < facts.size(); ++k) {
    columns_.push_back({k, 1});
    if (facts[k].kind == Fact::Kind::kZero) columns_.push_back({k, -1});
  }
  const std::size_t width = columns_.size() + 1;
  rows_.assign(monomials.size() + 1, std::vector<double>(width));
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Linear& expression = facts[columns_[c].fact].expression;
    double largest = std::fabs(static_cast<double>(expression.constant()));
    for (const Linear::Part& part : expression.parts()) {
      largest = std::max(largest, std::fabs(static_cast<double>(part.coefficient)));
    }
    const double scale = largest == 0 ? 0 : columns_[c].sign / largest;
    for (const Linear::Part& part : expression.parts()) {
      const auto at = std::lower_bound(monomials.begin(), monomials.end(), part.monomial);
      rows_[static_cast<std::size_t>(at - monomials.begin())][c] =
          scale * static_cast<double>(part.coefficient);
    }
    rows_.back()[c] = -scale * static_cast<double>(expression.constant());
  }
  rows_.back().back() = 1;
  cost_.assign(width, 0);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    basis_.push_back(columns_.size() + r);
    for (std::size_t c = 0; c < width; ++c) cost_[c] -= rows_[r][c];
  }
}

void Simplex::pivot(std::size_t row, std::size_t column) {
  std::vector<double>& own = rows_[row];
  const double divisor = own[column];
  for (double& value : own) value /= divisor;
  const auto clear = [&](std::vector<double>& other) {
    const double factor = other[column];
    if (factor == 0) return;
    for (std::size_t c = 0; c < other.size(); ++c) other[c] -= factor * own[c];
    other[column] = 0;
  };
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (r != row) clear(rows_[r]);
  }
  clear(cost_);
  basis_[row] = column;
}

/// False: no column makes the sum of the artificial unknowns smaller.
bool Simplex::step() {
  std::size_t column = 0;
  while (column < columns_.size() && cost_[column] > -kEpsilon) ++column;
  if (column == columns_.size()) return false;
  std::size_t best = rows_.size();
  double least = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r][column] < kEpsilon) continue;
    const double ratio = rows_[r].back() / rows_[r][column];
    const bool closer = best == rows_.size() || ratio < least - kEpsilon;
    if (closer || (ratio < least + kEpsilon && basis_[r] < basis_[best])) {
      least = closer ? ratio : std::min(least, ratio);
      best = r;
    }
  }
  if (best == rows_.size()) return false;
  pivot(best, column);
  return true;
}

std::vector<Fact> Simplex::solve() {
  for (int k = 0; k < kMostPivots && step(); ++k) {
  }
  constexpr double kNothing = 1e-7;
  if (-cost_.back() > kNothing) return {};
  std::vector<std::size_t> used;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (basis_[r] < columns_.size() && rows_[r].back() > kEpsilon) {
      used.push_back(columns_[basis_[r]].fact);
    }
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<Fact> result;
  for (std::size_t k : used) result.push_back(facts_[k]);
  return result;
}

}  // namespace

std::vector<Fact> contradictory_part(std::span<const Fact> facts) { return Simplex(facts).solve(); }

}  // namespace soapstone::verifier
