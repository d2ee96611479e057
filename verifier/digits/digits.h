// Digits of indices. An index that counts through a product of sizes is the sum of its digits
// by their place value: 0 ≤ i < m·n is i = j·n + k with 0 ≤ j < m and 0 ≤ k < n.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "verifier/algebra/expansion.h"
#include "verifier/checking/proof_context.h"

namespace soapstone::verifier {

/// A size that is a product, and the factors that its index has as digits, most significant first.
using Factorization = std::pair<Linear, std::vector<Linear>>;

/// How indices are split into digits.
struct DigitOrder {
  std::vector<Factorization> factorizations;
  /// When expanding, sizes that are multiples of a small number have it as their last digit.
  bool splits_steps = true;
};

class IndexDigits {
 public:
  IndexDigits(const ProofContext& proof, Expansion& expansion)
      : proof_(proof), expansion_(expansion) {}

  void set_order(DigitOrder order) { order_ = std::move(order); }
  /// Symbols that are free in the forms to be compared: they stand for themselves throughout.
  void add_outer(std::span<const Symbol> symbols) {
    outer_.insert(outer_.end(), symbols.begin(), symbols.end());
  }
  std::span<const Symbol> outer() const { return outer_; }

  /// An integer that counts from low to high: low + one fresh symbol, or + its digits. Their ranges
  /// are added to `ranges`, the symbols to `symbols`.
  Linear counter(const Linear& low, const Linear& high, FactSet& ranges,
                 std::vector<Symbol>& symbols);
  /// The position that named digits were made from, if this is their sum; else the position.
  Linear unnamed(const Linear& position) const;
  /// Symbols for the digits of any integer in these radices, which are at least 1. The first one
  /// takes what is left. The same question has the same answer. None if the position has symbols
  /// that are not outer ones.
  std::optional<std::vector<Linear>> named(const Linear& position,
                                           const std::vector<Linear>& radices);

 private:
  struct Names {
    Linear position;
    std::vector<Linear> radices;
    std::vector<Linear> digits;
    Linear sum;  ///< All digits times their place values.
  };
  std::vector<Linear> factors_of(const Linear& size);

  ProofContext proof_;
  Expansion& expansion_;
  DigitOrder order_;
  std::vector<Symbol> outer_;
  std::vector<Names> names_;
};

}  // namespace soapstone::verifier
