// Inequalities between a number and a function of it, that hold for all real numbers or on one side
// of 0. Proofs use them where order decides; a test evaluates each on a dense grid.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/language/functions.h"
#include "verifier/integers/fraction.h"

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

/// Only where the function has a value, or at the border of that: an axiom must not tell that x is
/// where log x has a value, since what a `select` does not choose may stand in a proof, too.
std::span<const Axiom> axioms();

}  // namespace soapstone::verifier
