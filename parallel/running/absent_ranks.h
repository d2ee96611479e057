// Ranks that are not there, for one that runs its program alone to see how long it computes.
#pragma once

#include <memory>

#include "runtime/collectives/collectives.h"

namespace soapstone::parallel {

/// Rank `rank` of `size`, on memory of the host. Nothing is waited for: messages are received as
/// zeros, and the other ranks of a collective operation have what this one has, whose reduction
/// with theirs is its own value.
std::unique_ptr<runtime::Collectives> make_absent_ranks(int rank, int size);

}  // namespace soapstone::parallel
