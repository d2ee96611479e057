// Whether two terms are the same text but for the order of operands that commute.
#pragma once

#include "generator/terms/term.h"

namespace soapstone::generator {

bool same_up_to_commutation(const TermTable& terms, const NamedTerm& a, const NamedTerm& b);

}  // namespace soapstone::generator
