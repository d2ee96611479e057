// What several products of a sum share is multiplied once.
#pragma once

#include "transforms/contract/sum_of_products.h"

namespace soapstone::transforms {

/// How numbers that scale whole terms are taken.
enum class Scalars : std::uint8_t {
  kFolded,  ///< Into constants, where there are some.
  kApart,   ///< Behind what they scale, which other terms may share.
};

/// How terms that only differ in constants become one.
enum class Constants : std::uint8_t {
  kAdded,    ///< The sum of their constants is one.
  kStacked,  ///< `Σ A·x·B` is a product with all A side by side, and one with all B.
};

/// Terms that only differ in constants as one term, and then the cheapest way found to take common
/// operands out of sums: `L·(x·A) + L·(L·(x·B)) = L·(x·A + L·(x·B))`. Complexity: at most a few
/// hundred sums are looked at.
/// `sum` gets an index for each stack.
TermSum factored(SumOfProducts& sum, Scalars scalars, Constants constants);

}  // namespace soapstone::transforms
