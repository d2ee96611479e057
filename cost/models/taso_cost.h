// The cost sum that TASO's search minimizes and its papers report, for comparing searches.
#pragma once

#include <memory>

#include "cost/models/cost_model.h"

namespace soapstone::cost {

/// A sum over operators, not launches: 5 us + flops / 15.7e12 + bytes / 900e9 each, four bytes an
/// element. Free are reshapes, transposes, splits and casts, what is computed from weights alone, a
/// convolution's bias, and a relu that alone reads a convolution without bias. It promises nothing
/// about time. Source: TASO (Jia et al., SOSP 2019), section 5, with its numbers for a V100.
std::unique_ptr<CostModel> make_taso_cost();

}  // namespace soapstone::cost
