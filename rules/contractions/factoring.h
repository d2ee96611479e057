// What several products of a sum share is multiplied once.
#pragma once

#include "rules/contractions/sum_of_products.h"

namespace soapstone::rules {

/// How numbers that scale whole terms are taken.
enum class Scalars : std::uint8_t {
  kFolded,  ///< Into constants, where there are some.
  kApart,   ///< Behind what they scale, which other terms may share.
};

/// Terms that only differ in constants as one term, and then the cheapest way found to take common
/// operands out of sums: `L·(x·A) + L·(L·(x·B)) = L·(x·A + L·(x·B))`. Complexity: at most a few
/// hundred sums are looked at.
TermSum factored(const SumOfProducts& sum, Scalars scalars);

}  // namespace soapstone::rules
