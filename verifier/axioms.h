// Inequalities between a number and a function of it, that hold for all real numbers or on one side
// of 0. Proofs use them where order decides; a test evaluates each on a dense grid.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/functions.h"
#include "verifier/fraction.h"

namespace soapstone::verifier {

enum class Where : std::uint8_t { kEverywhere, kNonNegative, kNonPositive };

/// Σ coefficient · xⁱ · f(x)ʲ · exp(x)ᵏ ≥ 0
struct Axiom {
  struct Part {
    Fraction coefficient;
    int x = 0;
    int f = 0;
    int exp = 0;
  };
  ops::Function function;
  Where where;
  std::vector<Part> parts;
  std::string_view reason;
};

/// Where a function has no value, an axiom must hold for some value that could be put there:
/// what is not chosen by a `select` may stand in a proof, too.
std::span<const Axiom> axioms();

}  // namespace soapstone::verifier
